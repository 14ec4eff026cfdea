package child

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/derived"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// deriving returns a module of ABI 1 whose derive function has this body.
func deriving(function []byte) wasmtest.Module {
	m := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, 2), "{}")
	m.Funcs = append(m.Funcs, wasmtest.Func{Name: abi.ExportDerive, Type: wasmtest.OfTwo, Code: wasmtest.Code(function, 0x0b)})
	return m
}

func TestDerive(t *testing.T) {
	function, digest := sandbox.Derivation{Function: 0}, sandbox.Derivation{SHA256: true}
	unreadable := errors.New("unreadable")
	sum := sha256.Sum256([]byte("content"))
	without := wasmtest.Plugin(nil, "").Bytes()
	unusable := deriving(nil) // each of its instances crashes
	unusable.Funcs = append(unusable.Funcs, wasmtest.Func{Name: abi.ExportInitialize, Type: wasmtest.Void, Code: []byte{0x00, 0x0b}})
	const cache, instance = 16 << 20, 1<<20 + 3*64<<10 + 4<<20
	for name, c := range map[string]struct {
		module []byte
		kind   sandbox.Derivation
		read   error
		want   string
		err    error
		credit int64 // in use afterwards
	}{
		"the module's function":               {deriving(wasmtest.Invoke(wasmtest.Output, 0, 2)).Bytes(), function, nil, "{}", nil, cache + instance},
		"a function that crashes":             {deriving([]byte{0x00}).Bytes(), function, nil, "", sandbox.ErrDerive, cache + instance},
		"a module without functions":          {without, function, nil, "", errNoDeriveFunctions, 0},
		"functions that cannot be run":        {unusable.Bytes(), function, nil, "", errNoDeriveFunctions, cache + instance},
		"a digest":                            {without, digest, nil, string(sum[:]), nil, cache},
		"a file that cannot be read":          {without, digest, unreadable, "", unreadable, cache},
		"a function, for an unreadable file":  {deriving(nil).Bytes(), function, unreadable, "", unreadable, cache + instance},
		"a digest by a module with functions": {deriving(nil).Bytes(), digest, nil, string(sum[:]), nil, cache + instance},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{module: loaded(t, engine.ABI1, c.module), cache: newCache(wire.Derived{}), log: hclog.NewNullLogger(),
				credit: &credit{granted: 1 << 30, out: wire.NewWriter(io.Discard)}}
			file := sandbox.DerivedFile{Stat: beneath.Stat{Size: 7}, Read: func() ([]byte, error) { return []byte("content"), c.read }}
			for range 2 { // the second derivation needs no further credit
				got, err := s.derive(t.Context(), c.kind, file)
				if string(got) != c.want || !errors.Is(err, c.err) || s.credit.used != c.credit {
					t.Errorf("got %q, %v with %d bytes of credit in use; want %q, %v, %d", got, err, s.credit.used, c.want, c.err, c.credit)
				}
			}
		})
	}
}

// Computing derived data takes long, so other calls are read concurrently.
func TestDerivationDoesNotDelayOtherCalls(t *testing.T) {
	module, read := loaded(t, engine.ABI1, wasmtest.Plugin(nil, "").Bytes()), make(chan struct{})
	h := served(t, func(ctx context.Context, r engine.Prepared) (engine.Held, error) {
		if r.Method == "short" {
			return answer(r.Method)
		}
		s := runningOf(ctx).server
		s.module = module
		data, err := s.derive(ctx, sandbox.Derivation{SHA256: true}, sandbox.DerivedFile{Read: func() ([]byte, error) {
			<-read
			return nil, nil
		}})
		return answer(fmt.Sprint(len(data), err))
	})
	h.call(1, "derive")
	h.call(2, "short")
	h.wantResult(2, call.OK, "short")
	close(read)
	h.wantResult(1, call.OK, "32 <nil>")
}

func TestDeriveWithoutMemoryEndsCall(t *testing.T) {
	s := &server{module: loaded(t, engine.ABI1, wasmtest.Plugin(nil, "").Bytes()), cache: newCache(wire.Derived{}),
		credit: &credit{granted: 16<<20 - 1, out: wire.NewWriter(io.Discard)}}
	failure := (*engine.Error)(nil)
	if got, err := s.derive(t.Context(), sandbox.Derivation{SHA256: true}, sandbox.DerivedFile{}); !errors.As(err, &failure) || failure.Code != engine.CodeMemory {
		t.Errorf("got %q, %v", got, err)
	}
}

// Small records leave with the result in one write; a large one does not delay it.
func TestRecordsOfDerivedDataPrecedeResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	st, err := beneath.StatFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for size, atOnce := range map[int]int{16<<10 - 52: 0, 16<<10 - 52 + 1: 1} { // with the head of the record: 16 KiB, and a byte more
		var out bytes.Buffer
		c := &running{server: &server{out: wire.NewWriter(&out), cache: newCache(wire.Derived{Kept: true})}, number: 7}
		past := time.Now().Add(-time.Hour).Truncate(time.Second).UnixNano() + 1 // a time with a fraction of a second
		key := derived.Key{Dev: st.Dev, Mtime: past, Ctime: past}
		open := func() (*os.File, error) { return os.Open(path) }
		if _, err := c.server.cache.Get(t.Context(), key, open, func() {}, func() ([]byte, error) { return make([]byte, size), nil }); err != nil {
			t.Fatal(err)
		}
		c.sendDerived()
		if frames := sent(t, &out); len(frames) != atOnce {
			t.Errorf("a record of %d bytes: %d frames were sent at once, want %d", size, len(frames), atOnce)
		}
		if err := c.server.out.Flush(); err != nil {
			t.Fatal(err)
		}
		if frames := sent(t, &out); len(frames) != 1-atOnce {
			t.Errorf("a record of %d bytes: %d frames were sent with the result, want %d", size, len(frames), 1-atOnce)
		}
	}
}
