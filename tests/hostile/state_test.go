//go:build unix

package hostile

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// statefulModule changes some state in each call and answers 1 if it found the change of an earlier call, else 0.
type statefulModule struct {
	name   string
	module wasmtest.Module
	finds  string // answer of a second call on a reused instance: "1", or the code of its failure
}

func statefulModules() []statefulModule {
	const found = `{"result":{"content":[{"type":"text","text":"0"}]}}`
	at := int32(strings.Index(found, `0"`))
	// keeping returns a module whose calls run finding, which pushes 1 if it finds the change of an earlier call, and then
	// leaving, which changes the state.
	keeping := func(finding, leaving []byte) wasmtest.Module {
		answer := invoke(wasmtest.Output, 0, int32(len(found)))
		return wasmtest.Plugin(exceptAtLoad(answer,
			finding, localSet, 0, leaving, num(at), localGet, 0, num('0'), add, store8, 0, 0, answer), found+"\x00")
	}
	global := func(typ byte, init, finding, leaving []byte) wasmtest.Module {
		return with(keeping(code(globalGet, 0, finding), code(leaving, globalSet, 0)), func(m *wasmtest.Module) {
			m.Globals = [][]byte{code(typ, 1, init, end)}
			m.Exports = [][]byte{code(wasmtest.Text("g"), 3, 0)}
		})
	}
	table := func(finding, leaving []byte) wasmtest.Module {
		return with(keeping(finding, leaving), func(m *wasmtest.Module) {
			m.Tables = [][]byte{{funcref, 0, 4}}
			m.Elements = [][]byte{code(1, 0, 1, m.Next()-1)} // a passive segment of one function
		})
	}
	const refFunc, tableSize, not = 0xd2, 16, eqz
	marker := byte(wasmtest.Extra)
	bytes := func(n int) []byte { return make([]byte, n) }
	segment := with(keeping(code(num(8000), num(0), num(1), prefixFC, 8, 1, 0, num(0)), code(prefixFC, 9, 1)), func(m *wasmtest.Module) {
		m.Data, m.Counted = append(m.Data, code(1, wasmtest.Text("x"))), true
	})
	return []statefulModule{
		{"memory", keeping(code(num(5000), load8, 0, 0), code(num(5000), num(1), store8, 0, 0)), "1"},
		{"initialized memory", keeping(code(num(int32(len(found))), load8, 0, 0), code(num(int32(len(found))), num(1), store8, 0, 0)), "1"},
		{"grown memory", keeping(code(num(1), memoryGrow, 0, drop, num(70_000), load8, 0, 0), code(num(70_000), num(1), store8, 0, 0)), "1"},
		{"the size of the memory", keeping(code(memorySize, 0, num(1), eq, not), code(num(1), memoryGrow, 0, drop)), "1"},
		{"an i32 global", global(i32, num(0), nil, num(1)), "1"},
		{"an i64 global", global(0x7e, wasmtest.I64(0), []byte{0xa7}, wasmtest.I64(1)), "1"},
		{"an f32 global", global(0x7d, code(0x43, bytes(4)), code(0xbc), code(0x43, 1, bytes(3))), "1"},
		{"an f64 global", global(0x7c, code(0x44, bytes(8)), code(0xbd, 0xa7), code(0x44, 1, bytes(7))), "1"},
		{"a v128 global", global(0x7b, code(prefixFD, 12, bytes(16)), code(prefixFD, 27, 0), code(prefixFD, 12, 1, bytes(15))), "1"},
		{"a reference global", global(funcref, code(refNull, funcref), code(isNull, not), code(refFunc, marker)), "1"},
		{"a table element", table(code(num(0), tableGet, 0, isNull, not), code(num(0), refFunc, marker, tableSet, 0)), "1"},
		{"the size of a table", table(code(prefixFC, tableSize, 0, num(4), eq, not), code(refNull, funcref, num(1), prefixFC, 15, 0, drop)), "1"},
		{"a filled table", table(code(num(3), tableGet, 0, isNull, not), code(num(0), refFunc, marker, num(4), prefixFC, 17, 0)), "1"},
		{"a copied table range", table(code(num(2), tableGet, 0, isNull, not), code(num(1), num(0), num(1), prefixFC, 12, 0, 0, num(2), num(1), num(1), prefixFC, 14, 0, 0)), "1"},
		{"a dropped data segment", segment, "trap"},
		{"a dropped element segment", table(code(num(0), num(0), num(1), prefixFC, 12, 0, 0, num(0)), code(prefixFC, 13, 0)), "trap"},
	}
}

// TestPristineCallsFindNoState checks that no module finds state of an earlier call. It also runs the modules with
// isolation = "reused", to show that each module would detect a leak of state.
func TestPristineCallsFindNoState(t *testing.T) {
	t.Parallel()
	for _, isolation := range []string{"pristine", "reused"} {
		t.Run(isolation, func(t *testing.T) {
			w := newWorkspace(t)
			for _, k := range statefulModules() {
				w.addModule(slug(k.name), k.module.Bytes(), `isolation = "`+isolation+`"`+"\nlimits = { concurrency = 1 }")
			}
			s := w.serve()
			for _, k := range statefulModules() {
				t.Run(k.name, func(t *testing.T) {
					want := []string{"0", "0", "0"}
					if isolation == "reused" {
						want = []string{"0", k.finds}
					}
					for i, finds := range want {
						got := s.call(slug(k.name), `{}`)
						if got.Failure == "" {
							got.Failure = got.Text
						}
						if got.Failure != finds {
							t.Errorf("call %d found %q, want %q: %+v", i+1, got.Failure, finds, got)
						}
					}
				})
			}
			s.checkOthers()
			s.end()
		})
	}
}
