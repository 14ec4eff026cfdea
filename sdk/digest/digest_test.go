//go:build !wasip1

package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// hosted makes the function host answer the operations of a test. It returns the number of operations so far.
func hosted(t *testing.T, host func(request []byte) []byte) *int {
	t.Helper()
	operations := 0
	before := hostCall
	isModule = true
	hostCall = func(request []byte) []byte {
		operations++
		return host(request)
	}
	t.Cleanup(func() {
		isModule, hostCall = false, before
		unavailable.Store(false)
	})
	return &operations
}

// hashing returns a function that answers operations as docs/abi.md specifies.
func hashing(t *testing.T) func([]byte) []byte {
	return func(request []byte) []byte {
		text, data, _ := bytes.Cut(request, []byte{0})
		var r struct {
			Op     string
			Params abi.SHA256
		}
		if err := json.Unmarshal(text, &r); err != nil || r.Op != abi.OpHashSHA256 {
			t.Fatalf("%q: %v", text, err)
		}
		if len(data) < minHosted || len(data) > maxHosted {
			t.Errorf("a request with %d bytes", len(data))
		}
		sum := sha256.New()
		if err := sum.(encoding.BinaryUnmarshaler).UnmarshalBinary(r.Params.State); err != nil {
			t.Fatal(err)
		}
		sum.Write(data)
		state, err := sum.(encoding.BinaryMarshaler).MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		result, err := json.Marshal(map[string]any{"result": abi.SHA256Sum{Sum: hex.EncodeToString(sum.Sum(nil)), State: state}})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
}

// withoutSum returns a function that answers as host does, but without the sum.
func withoutSum(host func([]byte) []byte) func([]byte) []byte {
	return func(request []byte) []byte { return bytes.Replace(host(request), []byte(`"sum"`), []byte(`"was"`), 1) }
}

// answering returns a function that gives the same answer to each operation.
func answering(answer string) func([]byte) []byte {
	return func([]byte) []byte { return []byte(answer) }
}

var sizes = []int{0, 1, 63, 64, 65, minHosted - 1, minHosted, minHosted + 1, maxHosted - 1, maxHosted, maxHosted + 1, maxHosted + minHosted, 3*maxHosted + 17}

func randomBytes(n int) []byte {
	data := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data)
	return data
}

func TestSumsAreThoseOfCryptoSHA256(t *testing.T) {
	hosts := map[string]func([]byte) []byte{
		"a host that hashes":          hashing(t),
		"a host that does not":        answering(`{"error":{"code":"unavailable","message":"no"}}`),
		"a host that fails":           answering(`{"error":{"code":"denied","message":"not before the first call"}}`),
		"an answer without a sum":     withoutSum(hashing(t)),
		"an answer without a state":   answering(`{"result":{}}`),
		"an answer with a wrong one":  answering(`{"result":{"state":"AAAA"}}`),
		"an answer that is no base64": answering(`{"result":{"state":"****"}}`),
		"an answer that is not JSON":  answering(`}`),
	}
	for name, host := range hosts {
		t.Run(name, func(t *testing.T) {
			hosted(t, host)
			for _, size := range sizes {
				data := randomBytes(size)
				want := sha256.Sum256(data)
				if got := Sum256(data); got != want {
					t.Errorf("Sum256 of %d bytes: got %x, want %x", size, got, want)
				}
				for _, chunk := range []int{1, 63, 1000, minHosted, maxHosted - 1, maxHosted, maxHosted + 1} {
					if size/chunk > 10_000 {
						continue
					}
					sum := New()
					for rest := data; len(rest) > 0; {
						n, err := sum.Write(rest[:min(chunk, len(rest))])
						if err != nil {
							t.Fatal(err)
						}
						rest = rest[n:]
					}
					checkSum(t, fmt.Sprintf("%d bytes in chunks of %d", size, chunk), sum, want)
				}
				for name, reader := range map[string]io.Reader{
					"a reader":                       bytes.NewReader(data),
					"a reader that returns half":     iotest.HalfReader(bytes.NewReader(data)),
					"a reader with data at its end":  iotest.DataErrReader(bytes.NewReader(data)),
					"a reader without other methods": struct{ io.Reader }{bytes.NewReader(data)},
				} {
					sum := New()
					if n, err := io.Copy(sum, reader); n != int64(size) || err != nil {
						t.Errorf("%s: copied %d of %d bytes: %v", name, n, size, err)
					}
					checkSum(t, fmt.Sprintf("%d bytes of %s", size, name), sum, want)
				}
			}
		})
	}
}

// checkSum compares a sum with want, twice, since Sum must not change the state. Then it adds more bytes and compares again.
func checkSum(t *testing.T, what string, sum hash.Hash, want [sha256.Size]byte) {
	t.Helper()
	for range 2 {
		if got := sum.Sum([]byte("x")); !bytes.Equal(got, append([]byte("x"), want[:]...)) {
			t.Fatalf("%s: got %x, want %x", what, got[1:], want)
		}
	}
}

// TestRandomUseIsThatOfCryptoSHA256 calls the methods in random order. The results must be those of crypto/sha256.
func TestRandomUseIsThatOfCryptoSHA256(t *testing.T) {
	hosted(t, hashing(t))
	data := randomBytes(2 * maxHosted)
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		got, want := New(), sha256.New()
		for range 1 + random.IntN(8) {
			piece := data[:random.IntN(1+[]int{100, minHosted, len(data)}[random.IntN(3)])]
			switch random.IntN(8) {
			case 0:
				got.Reset()
				want.Reset()
			case 1:
				if a, b := got.Sum(nil), want.Sum(nil); !bytes.Equal(a, b) {
					t.Fatalf("got %x, want %x", a, b)
				}
			case 2:
				_, _ = got.(io.ReaderFrom).ReadFrom(bytes.NewReader(piece))
				want.Write(piece)
			default:
				got.Write(piece)
				want.Write(piece)
			}
		}
		checkSum(t, "random use", got, [sha256.Size]byte(want.Sum(nil)))
		if got.Size() != want.Size() || got.BlockSize() != want.BlockSize() {
			t.Fatalf("got the sizes %d and %d", got.Size(), got.BlockSize())
		}
	}
}

func TestReadErrorsAreReturned(t *testing.T) {
	hosted(t, hashing(t))
	failure := errors.New("broken")
	n, err := io.Copy(New(), io.MultiReader(bytes.NewReader(randomBytes(10_000)), iotest.ErrReader(failure)))
	if n != 10_000 || !errors.Is(err, failure) {
		t.Errorf("got %d, %v", n, err)
	}
}

func TestOperationsAreFew(t *testing.T) {
	for name, c := range map[string]struct {
		size, want int
		answer     func(*testing.T) func([]byte) []byte
	}{
		"small data stays in the module":      {minHosted - 1, 0, hashing},
		"larger data is one operation":        {maxHosted, 1, hashing},
		"one operation for each full request": {4*maxHosted + minHosted, 5, hashing},
		"a short rest stays in the module":    {4*maxHosted + minHosted - 1, 4, hashing},
		"a host without it is asked once": {4 * maxHosted, 1, func(*testing.T) func([]byte) []byte {
			return answering(`{"error":{"code":"unavailable","message":"no"}}`)
		}},
		"one that denies it before the first call is asked again": {4 * maxHosted, 4, func(*testing.T) func([]byte) []byte {
			return answering(`{"error":{"code":"denied","message":"not before the first call"}}`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			operations := hosted(t, c.answer(t))
			Sum256(randomBytes(c.size))
			if *operations != c.want {
				t.Errorf("got %d operations, want %d", *operations, c.want)
			}
		})
	}
	t.Run("a process that is no module has none", func(t *testing.T) {
		operations := hosted(t, hashing(t))
		isModule = false
		Sum256(randomBytes(maxHosted))
		if *operations != 0 {
			t.Errorf("got %d operations", *operations)
		}
	})
}

func TestMemoryIsBounded(t *testing.T) {
	hosted(t, hashing(t))
	d := newDigest()
	data := randomBytes(maxHosted + 1)
	for range 5 {
		d.Write(data)
	}
	if most := headerSize + maxHosted; cap(d.request) > most {
		t.Errorf("a buffer of %d bytes, want at most %d", cap(d.request), most)
	}
}
