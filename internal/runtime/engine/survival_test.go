package engine

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	w "github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// openingAtStart adds a start function that opens a file, and returns the code that reads one byte of the file and traps unless that
// byte is the first one. The code needs the module's last two imports to be path_open and fd_read. Addresses from 2048 on are used.
func openingAtStart(m *w.Module, file string) (read []byte) {
	const i32, i64 = byte(wasm.I32), byte(wasm.I64)
	types := byte(len(m.Types))
	m.Types = append(slices.Clone(m.Types), wasm.FuncType{},
		wasm.FuncType{Params: []byte{i32, i32, i32, i32, i32, i64, i64, i32, i32}, Results: []byte{i32}},
		wasm.FuncType{Params: []byte{i32, i32, i32, i32}, Results: []byte{i32}})
	open := byte(len(m.Imports))
	m.Imports = append(slices.Clone(m.Imports), w.Import{Module: "wasi_snapshot_preview1", Name: "path_open", Type: types + 1},
		w.Import{Module: "wasi_snapshot_preview1", Name: "fd_read", Type: types + 2})
	path := strings.TrimPrefix(file, "/")
	m.Data = append(m.Data, w.Code(0, w.I32(3000), 0x0b, w.Text(path)),
		w.Code(0, w.I32(2048), 0x0b, w.Text("\x10\x08\x00\x00\x01\x00\x00\x00"))) // a vector of one byte at 2064
	m.Funcs = append(m.Funcs, w.Func{Type: types, Code: w.Code(
		w.I32(3), w.I32(1), w.I32(3000), w.I32(int32(len(path))), w.I32(0), w.I64(2), w.I64(0), w.I32(0), w.I32(2080), 0x10, open,
		0x04, 0x40, 0x00, 0x0b, 0x0b)}) // unreachable if there is an errno
	m.Start = wasm.AppendU32(nil, uint32(len(m.Imports)+len(m.Funcs)-1))
	return w.Code(w.I32(2080), 0x28, 2, 0, w.I32(2048), w.I32(1), w.I32(2088), 0x10, open+1, 0x1a,
		w.Expect32('a', w.Code(w.I32(2064), 0x2d, 0, 0)))
}

// TestFileOpenedAtStartHasNoPositionOfEarlierCall checks modules whose start function opens a file: each call has to read its first byte.
func TestFileOpenedAtStartHasNoPositionOfEarlierCall(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	for kind, c := range map[Kind]struct {
		module func() w.Module
		call   func(t *testing.T, m *Module) error
	}{
		ABI1: {
			func() w.Module {
				m := w.Plugin(nil, "{}")
				m.Funcs[1].Code = w.Code(openingAtStart(&m, file), w.I32(0), w.I32(2), 0x10, w.Output, 0x0b)
				return m
			},
			func(t *testing.T, m *Module) error { _, err := callTool(t.Context(), m, "any", "{}"); return err },
		},
		Command: {
			func() w.Module {
				m := w.Module{Types: []wasm.FuncType{{}}, Memory: []byte{0, 1}, Funcs: []w.Func{{Name: "_start"}}}
				m.Funcs[0].Code = w.Code(openingAtStart(&m, file), 0x0b)
				return m
			},
			func(t *testing.T, m *Module) error { _, err := execute(t, m, ""); return err },
		},
		Extism: {
			func() w.Module {
				m := w.Extism(map[string][]byte{"describe": nil})
				read := openingAtStart(&m, file)
				for i, f := range m.Funcs {
					if f.Name == "describe" {
						call := f
						call.Name, call.Code = "call", w.Code(read, w.Give(0, given), w.I32(0), 0x0b)
						m.Funcs = slices.Insert(m.Funcs, i+1, call)
						m.Start = wasm.AppendU32(nil, uint32(len(m.Imports)+len(m.Funcs)-1))
						break
					}
				}
				return m
			},
			func(t *testing.T, m *Module) error { _, err := callExtism(t, m, `{"name":"a"}`, ""); return err },
		},
	} {
		t.Run(string(kind), func(t *testing.T) {
			m := loadBytes(t, c.module().Bytes(), Spec{Kind: kind, FS: mountDir(t, filepath.Dir(file))})
			for n := range 3 {
				if err := c.call(t, m); err != nil {
					t.Errorf("call %d: %v", n, err)
				}
			}
		})
	}
}

// TestCallsObserveNothingOfEarlierCalls makes the same random system calls in an instance that is reused and in new instances: descriptors,
// their flags and positions, the positions of listings, and how many files may be open.
func TestCallsObserveNothingOfEarlierCalls(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("abcdefgh"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec := Spec{Env: map[string]string{"PWD": dir}, FS: mountLimited(t, dir, 3)}
	reused, fresh := newModule(t, spec), newModule(t, spec)
	path := strings.TrimPrefix(dir, "/")
	for seed := range testenv.Count(20, 100, 1000) {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		pick := func(of ...string) string { return of[r.IntN(len(of))] }
		var sequence []string
		for n := range 4 {
			var steps []map[string]any
			for range 1 + r.IntN(8) {
				s := map[string]any{"Call": pick("open", "open", "open", "open", "open", "open", "close", "close", "renumber", "seek", "read", "read", "list", "list", "flags", "set flags", "stat"), "A": r.IntN(8), "B": r.IntN(4)}
				switch s["Call"] {
				case "open":
					s["A"], s["B"], s["Path"] = 3, 0, path+pick("", "/a", "/b", "/none")
				case "list":
					s["A"] = 3 + r.IntN(2)
				case "flags", "set flags", "stat":
					s["A"] = r.IntN(5) // also of the descriptors of the host
				}
				steps = append(steps, s)
			}
			if r.IntN(2) == 0 { // leaves nothing open that has the usual number
				for fd := range 8 {
					steps = append(steps, map[string]any{"Call": "close", "A": fd})
				}
			}
			arguments, err := json.Marshal(map[string]any{"Steps": steps})
			if err != nil {
				t.Fatal(err)
			}
			sequence = append(sequence, string(arguments))
			fresh.pool.drain()
			want, err := callTool(t.Context(), fresh, "probe", string(arguments))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := callTool(t.Context(), reused, "probe", string(arguments)); err != nil || got != want {
				t.Fatalf("seed %d, call %d: got %s, %v\nin a new instance: %s\ncalls: %s", seed, n, got, err, want, strings.Join(sequence, "\n"))
			}
		}
	}
}
