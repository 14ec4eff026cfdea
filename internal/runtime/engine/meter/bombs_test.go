package meter_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// wide returns three function types: one without parameters and results, one with the given numbers of both, all of them i32, and one
// with the results only.
func wide(params, results int) []wasm.FuncType {
	p, r := slices.Repeat([]byte{byte(wasm.I32)}, params), slices.Repeat([]byte{byte(wasm.I32)}, results)
	return []wasm.FuncType{{}, {Params: p, Results: r}, {Results: r}}
}

// Indices of the types that wide returns.
const (
	wideBoth    = 1
	wideResults = 2
)

func length(n int) []byte { return wasm.AppendU32(nil, uint32(n)) }

// withWide returns a module with types of 1,000 parameters and results. The code of its function f is before, followed by n times part
// and by behind.
func withWide(n int, before, part, behind []byte) wasmtest.Module {
	body := slices.Concat(before, slices.Repeat(part, n), behind, []byte{0x0b})
	return wasmtest.Module{
		Types: wide(1000, 1000), Tables: [][]byte{{0x70, 0, 1}},
		Funcs: []wasmtest.Func{function("f", 0, nil, body), function("", wideBoth, nil, code(0x00, 0x0b))},
	}
}

// A few bytes of a module can cost the compiler gigabytes or minutes. Rewrite must refuse such a module, at a cost proportional to the
// module's size.
func TestRewriteRefusesCostlyModules(t *testing.T) {
	push, drop := repeat(1000, i32(0)), repeat(1000, 0x1a)
	plain := func(n int, part ...any) wasmtest.Module {
		h := one(tVoid, nil, code(repeat(n, part...), 0x0b))
		h.Tables = [][]byte{{0x70, 0, 1}}
		return h
	}
	segment := func(parts ...any) wasmtest.Module {
		h := plain(0)
		h.Elements = [][]byte{code(parts...)}
		return h
	}
	const many = 10_000_000
	const blockArgs = "SSA block arguments of a function"
	const compiled = "bytes of compiled code of a function"
	const controls = "control instructions of a function"
	for name, c := range map[string]struct {
		h    wasmtest.Module
		what string
	}{
		"zeros in an element segment":    {segment(1, 0, length(many), make([]byte, many)), "elements of all element segments"},
		"nulls in an element segment":    {segment(5, 0x70, length(many), repeat(many, 0xd0, 0x70, 0x0b)), "elements of all element segments"},
		"labels with a thousand results": {withWide(1, code(0x02, wideResults, push, i32(0)), code(0x0e, length(20_000), make([]byte, 20_001)), code(0x0b, drop)), blockArgs},
		"blocks of a wide type":          {withWide(10_000, push, code(0x02, wideBoth, 0x0b), drop), blockArgs},
		"loops of a wide type":           {withWide(5_000, push, code(0x03, wideBoth, i32(0), 0x0d, 0, 0x0b), drop), blockArgs},
		"ifs of a wide type":             {withWide(10_000, push, code(i32(0), 0x04, wideBoth, 0x0b), drop), blockArgs},
		"elses of a wide type":           {withWide(5_000, push, code(i32(0), 0x04, wideBoth, 0x05, 0x0b), drop), blockArgs},
		"branches out of a wide block":   {withWide(10_000, code(push, 0x02, wideBoth), code(i32(0), 0x0d, 0), code(0x0b, drop)), blockArgs},
		"calls of a wide type":           {withWide(10_000, push, code(0x10, 1), drop), blockArgs},
		"indirect calls of a wide type":  {withWide(10_000, push, code(i32(0), 0x11, wideBoth, 0), drop), blockArgs},
		"returns from blocks":            {plain(100_000, 0x02, 0x40, 0x0f, 0x0b), controls},
		"endless unreachable":            {plain(2_000_000, 0x00), controls},
		"empty blocks":                   {plain(100_000, 0x02, 0x40, 0x0b), controls},
		"table.fill":                     {plain(50_000, i32(0), 0xd0, 0x70, i32(0), 0xfc, 17, 0), controls},
		"calls":                          {plain(100_000, 0x10, 0), controls},
		"loads":                          {plain(200_000, i32(0), 0x28, 0, 0, 0x1a), compiled},
		"loads of v128":                  {plain(200_000, i32(0), 0xfd, 0, 0, 0, 0x1a), compiled},
		"divisions":                      {plain(200_000, i32(0), i32(1), 0x6d, 0x1a), compiled},
		"conversions":                    {plain(100_000, 0x43, 0, 0, 0, 0, 0xa8, 0x1a), compiled},
		"references to functions":        {plain(29_000, 0xd2, 0, 0x1a), compiled},
	} {
		t.Run(name, func(t *testing.T) {
			module := c.h.Bytes()
			limit := (*wasm.LimitError)(nil)
			taken := testenv.AllocatedBy(func() {
				if _, err := meter.Rewrite(module, meter.DefaultConfig()); !errors.As(err, &limit) || limit.What != c.what {
					t.Errorf("error %v, want a LimitError of %s", err, c.what)
				}
			})
			if most := uint64(4*len(module) + 64<<20); taken > most {
				t.Errorf("refusing %d bytes allocated %d, want at most %d", len(module), taken, most)
			}
		})
	}
}

// Names are used in stack traces only, but a runtime needs many times the names' size in memory.
func TestNameSectionIsBounded(t *testing.T) {
	const many = 10_000_000
	none := repeat(many, 0, 0)
	for name, part := range map[string][]byte{
		"empty names of functions": code(1, text(string(code(length(many), none)))),
		"functions without locals": code(2, text(string(code(length(many), none)))),
		"empty names of locals":    code(2, text(string(code(1, 0, length(many), none)))),
		"empty names of globals":   code(7, text(string(code(length(many), none)))),
		"one function twice":       code(1, text("\x02\x00\x01a\x00\x01b")),
		"an unknown function":      code(1, text("\x01\x01\x01a")),
		"a duplicate subsection":   code(1, text("\x01\x00\x01a"), 1, text("\x01\x00\x01b")),
	} {
		t.Run(name, func(t *testing.T) {
			h := one(tVoid, nil, code(0x0b))
			h.Custom = [][]byte{code(text("name"), part)}
			module := h.Bytes()
			bare := one(tVoid, nil, code(0x0b))
			want := rewrite(t, bare.Bytes()).Module
			var got []byte
			taken := testenv.AllocatedBy(func() { got = rewrite(t, module).Module })
			if string(got) != string(want) {
				t.Errorf("%d bytes, want the %d of a module without names", len(got), len(want))
			}
			if most := uint64(2*len(module) + 1<<20); taken > most {
				t.Errorf("rewriting %d bytes allocated %d, want at most %d", len(module), taken, most)
			}
		})
	}
}

// A leaf function may charge fuel without checking it. The cost of a leaf that a call_indirect does not account for must be bounded.
func TestUncheckedWorkOfLeavesIsBounded(t *testing.T) {
	const units, most = 4000, 10_000
	for n := units; n < units+130; n += 10 { // the charge at the beginning of a leaf depends on the leaf's length
		leaf := function("", tVoid, nil, code(repeat(n/2, i32(1), 0x1a), 0x0b))
		for name, call := range map[string][]byte{"call": code(0x10, 1), "call_indirect": code(i32(0), 0x11, tVoid, 0)} {
			h := wasmtest.Module{
				Types:    someTypes,
				Funcs:    []wasmtest.Func{function("f", tVoid, nil, code(0x03, 0x40, repeat(200, call), 0x0c, 0, 0x0b, 0x0b)), leaf},
				Tables:   [][]byte{{0x70, 0, 1}},
				Elements: [][]byte{code(0, i32(0), 0x0b, 1, 1)},
			}
			unchecked, left := int64(0), 50
			r := run(t, h.Bytes(), meter.DefaultConfig(), func(fuel api.MutableGlobal) {
				if unchecked = max(unchecked, -int64(fuel.Get())); left == 0 {
					panic(errStop)
				}
				left--
				fuel.Set(0)
			})
			if _, err := r.call("f"); !errors.Is(err, errStop) {
				t.Fatal(err)
			}
			if unchecked > most {
				t.Errorf("%s of a leaf of %d units: %d units without a check, want at most %d", name, n, unchecked, most)
			}
		}
	}
}
