//go:build unix

package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// hashOf performs the operation in requests of the given size, and returns the digest and the state.
func hashOf(t *testing.T, box *Box, data []byte, chunk int) abi.SHA256Sum {
	t.Helper()
	var sum struct{ Result abi.SHA256Sum }
	for first := true; first || len(data) > 0; first = false {
		params, err := json.Marshal(abi.SHA256{State: sum.Result.State})
		if err != nil {
			t.Fatal(err)
		}
		n := min(chunk, len(data))
		answer := box.Operate(begin(t, &notes{}), append([]byte(`{"op":"hash/sha256","params":`+string(params)+"}\x00"), data[:n]...))
		data = data[n:]
		if err := json.Unmarshal(answer, &sum); err != nil || len(sum.Result.State) != 108 {
			t.Fatalf("decoding the answer: got %v, or a state that does not have 108 bytes: %s", err, answer)
		}
	}
	return sum.Result
}

func TestHashIsThatOfCryptoSHA256(t *testing.T) {
	box := newWorld(t).new(t, Setup{}) // the operation needs no grant
	data := []byte(strings.Repeat("0123456789\x00{}", 60_000))
	for _, size := range []int{0, 1, 55, 56, 63, 64, 65, hashPiece - 1, hashPiece, hashPiece + 1, len(data)} {
		want := sha256.Sum256(data[:size])
		for _, chunk := range []int{61, 64, 4096, hashPiece + 1, len(data)} {
			if size/chunk > 200 {
				continue
			}
			if got := hashOf(t, box, data[:size], chunk); got.Sum != hex.EncodeToString(want[:]) {
				t.Errorf("%d bytes in requests of %d: got %s, want %x", size, chunk, got.Sum, want)
			}
		}
	}
}

func TestHostileHashRequestsAreInvalid(t *testing.T) {
	box := newWorld(t).new(t, Setup{})
	state := hashOf(t, box, []byte("x"), 1).State
	encoded := func(state []byte) string {
		return `{"op":"hash/sha256","params":{"state":"` + base64.StdEncoding.EncodeToString(state) + `"}}` + "\x00x"
	}
	const noState = "invalid the parameters of the operation are invalid: a state of "
	for name, c := range map[string]struct{ request, want string }{
		"a state that is too short":        {encoded(state[:107]), noState + "107 bytes"},
		"a state that is too long":         {encoded(append(state[:108:108], 0)), noState + "109 bytes"},
		"a state of another hash":          {encoded(append([]byte("sha\x02"), state[4:]...)), noState + "108 bytes"},
		"an empty state":                   {`{"op":"hash/sha256","params":{"state":""}}` + "\x00x", noState + "0 bytes"},
		"a state that is no base64":        {`{"op":"hash/sha256","params":{"state":"*"}}` + "\x00x", "invalid the parameters "},
		"a state that is no string":        {`{"op":"hash/sha256","params":{"state":7}}` + "\x00x", "invalid the parameters "},
		"no parameters":                    {`{"op":"hash/sha256"}` + "\x00x", "invalid the parameters "},
		"many members":                     {`{"op":"hash/sha256","params":{` + strings.Repeat(`"":0,`, 500) + `"":0}}` + "\x00x", "invalid the parameters "},
		"bytes behind another operation":   {`{"op":"lock","params":{"name":"n"}}` + "\x00x", "invalid lock: bytes follow the JSON of the request"},
		"no bytes behind its NUL":          {`{"op":"notify","params":{}}` + "\x00", "invalid notify: bytes follow the JSON of the request"},
		"bytes behind an unknown one":      {`{"op":"hash/md5","params":{}}` + "\x00x", "unavailable "},
		"bytes behind one without a grant": {`{"op":"git/status","params":{}}` + "\x00x", "invalid git/status: bytes follow the JSON of the request"},
		"only bytes":                       {"\x00x", "invalid the request is not an operation: "},
		"JSON before the bytes that is too long": {`{"op":"hash/sha256","params":{}` + strings.Repeat(" ", abi.MaxBeforeBytes) + "}\x00x",
			"invalid the request is not an operation: "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failure(t, box.Operate(begin(t, &notes{}), []byte(c.request))); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s…", got, c.want)
			}
		})
	}
}

// A state may claim that any number of bytes was hashed. A false number is harmless: it only results in a useless digest.
func TestHashAcceptsAnyLengthInState(t *testing.T) {
	box := newWorld(t).new(t, Setup{})
	state := hashOf(t, box, []byte("x"), 1).State
	for i := 100; i < 108; i++ {
		state[i] = 0xff
	}
	request := `{"op":"hash/sha256","params":{"state":"` + base64.StdEncoding.EncodeToString(state) + `"}}` + "\x00" + strings.Repeat("y", 1000)
	if got := box.Operate(begin(t, &notes{}), []byte(request)); !strings.HasPrefix(string(got), `{"result":{"sum":"`) {
		t.Errorf("got %s", got)
	}
}

func TestHashEndsWithCall(t *testing.T) {
	box := newWorld(t).new(t, Setup{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := failure(t, box.Operate(ctx, []byte(`{"op":"hash/sha256","params":{}}`+"\x00x"))); got != "failed context canceled" {
		t.Errorf("got %s", got)
	}
}

func TestOnlyFailedHashesAreRecorded(t *testing.T) {
	box := newWorld(t).new(t, Setup{})
	var got []Operation
	ctx := Begin(t.Context(), nil, func(o Operation) { got = append(got, o) })
	box.Operate(ctx, []byte(`{"op":"hash/sha256","params":{}}`+"\x00x"))
	box.Operate(ctx, []byte(`{"op":"hash/sha256","params":7}`+"\x00x"))
	if want := (Operation{Op: abi.OpHashSHA256, Code: abi.HostInvalid}); len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
