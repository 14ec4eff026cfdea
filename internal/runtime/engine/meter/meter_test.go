package meter_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

var errStop = errors.New("enough")

// stopAfter returns a yield function that refills the fuel the given number of times. After that it aborts the module.
func stopAfter(refills int) func(api.MutableGlobal) {
	return func(fuel api.MutableGlobal) {
		if refills--; refills < 0 {
			panic(errStop)
		}
		fuel.Set(10_000)
	}
}

// one returns a module whose only function is f.
func one(typ byte, locals []byte, body []byte) wasmtest.Module {
	return wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("f", typ, locals, body)}, Memory: []byte{0, 20}}
}

func TestEndlessCodeIsStopped(t *testing.T) {
	table := func(h wasmtest.Module) wasmtest.Module {
		h.Tables = [][]byte{{0x70, 0, 8}}
		return h
	}
	call := func(f ...wasmtest.Func) wasmtest.Module { return wasmtest.Module{Types: someTypes, Funcs: f} }
	for name, h := range map[string]wasmtest.Module{
		"an empty loop":               one(tVoid, nil, code(0x03, 0x40, 0x0c, 0, 0x0b, 0x0b)),
		"a loop by br_if":             one(tVoid, nil, code(0x03, 0x40, i32(1), 0x0d, 0, 0x0b, 0x0b)),
		"a loop by br_table":          one(tVoid, nil, code(0x03, 0x40, i32(5), 0x0e, 1, 1, 0, 0x0b, 0x0b)),
		"the default of br_table":     one(tVoid, nil, code(0x03, 0x40, 0x02, 0x40, i32(5), 0x0e, 2, 0, 0, 1, 0x0b, 0x0b, 0x0b)),
		"a loop from an inner loop":   one(tVoid, nil, code(0x03, 0x40, 0x03, 0x40, 0x0c, 1, 0x0b, 0x0b, 0x0b)),
		"a loop from an if":           one(tVoid, nil, code(0x03, 0x40, i32(1), 0x04, 0x40, 0x0c, 1, 0x0b, 0x0b, 0x0b)),
		"a loop from an else":         one(tVoid, nil, code(0x03, 0x40, i32(0), 0x04, 0x40, 0x05, 0x0c, 1, 0x0b, 0x0b, 0x0b)),
		"a jump back by a dispatch":   one(tVoid, []byte{1, 1, 0x7f}, code(0x03, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 0, 0, 0x0b, i32(0), 0x21, 0, 0x0c, 0, 0x0b, 0x0b)),
		"a dispatch to its own loop":  one(tVoid, []byte{1, 1, 0x7f}, code(0x03, 0x40, 0x02, 0x40, 0x20, 0, 0x0e, 1, 0, 1, 0x0b, i32(1), 0x21, 0, 0x0c, 0, 0x0b, 0x0b)),
		"a loop with a parameter":     one(tVoid, nil, code(i32(1), 0x03, tI32ToI32, 0x0c, 0, 0x0b, 0x1a, 0x0b)),
		"a loop of memory.copy":       one(tVoid, nil, code(0x03, 0x40, i32(0), i32(1), i32(1<<20), 0xfc, 10, 0, 0, 0x0c, 0, 0x0b, 0x0b)),
		"a loop of memory.fill":       one(tVoid, nil, code(0x03, 0x40, i32(0), i32(1), i32(1<<20), 0xfc, 11, 0, 0x0c, 0, 0x0b, 0x0b)),
		"a loop of memory.grow":       one(tVoid, nil, code(0x03, 0x40, i32(0), 0x40, 0, 0x1a, 0x0c, 0, 0x0b, 0x0b)),
		"a loop of table.grow":        table(one(tVoid, nil, code(0x03, 0x40, 0xd0, 0x70, i32(0), 0xfc, 15, 0, 0x1a, 0x0c, 0, 0x0b, 0x0b))),
		"a loop of long code":         one(tVoid, nil, code(0x03, 0x40, repeat(20_000, i32(1), 0x1a), 0x0c, 0, 0x0b, 0x0b)),
		"a loop calling a short leaf": call(function("f", tVoid, nil, code(0x03, 0x40, 0x10, 1, 0x0c, 0, 0x0b, 0x0b)), function("", tVoid, nil, code(0x01, 0x0b))),
		"a tree of calls": call(function("f", tI32ToI32, nil, code(0x20, 0, 0x45, 0x04, 0x40, i32(0), 0x0f, 0x0b,
			0x20, 0, i32(1), 0x6b, 0x10, 0, 0x1a, 0x20, 0, i32(1), 0x6b, 0x10, 0, 0x0b))),
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, h.Bytes(), meter.DefaultConfig(), stopAfter(5))
			args := []uint64{60}[:len(r.ExportedFunction("f").Definition().ParamTypes())]
			_, err := r.call("f", args...)
			if !errors.Is(err, errStop) || r.yields != 6 {
				t.Errorf("after %d yields: %v; want it stopped at the 6th", r.yields, err)
			}
		})
	}
}

func TestEndlessStartFunctionIsStopped(t *testing.T) {
	h := one(tVoid, nil, code(0x03, 0x40, 0x0c, 0, 0x0b, 0x0b))
	h.Start = []byte{0}
	if _, err := tryRun(t, h.Bytes(), meter.DefaultConfig(), stopAfter(3)); !errors.Is(err, errStop) {
		t.Errorf("start: %v", err)
	}
}

func TestDeepRecursionTraps(t *testing.T) {
	direct := wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("f", tVoid, nil, code(0x10, 0, 0x0b))}}
	indirect := wasmtest.Module{
		Types: someTypes, Funcs: []wasmtest.Func{function("f", tVoid, nil, code(i32(0), 0x11, tVoid, 0, 0x0b))},
		Tables: [][]byte{{0x70, 0, 1}}, Elements: [][]byte{code(0, i32(0), 0x0b, 1, 0)},
	}
	config := meter.DefaultConfig()
	config.Stack = 100_000
	for name, h := range map[string]wasmtest.Module{"direct": direct, "indirect": indirect} {
		t.Run(name, func(t *testing.T) {
			r := run(t, h.Bytes(), config, nil)
			_, err := r.call("f")
			if err == nil || !strings.Contains(err.Error(), "unreachable") || !strings.Contains(err.Error(), "bulkhead:enter") {
				t.Errorf("call: %v", err)
			}
			if left := int64(r.ExportedGlobal(meter.ExportStack).Get()); left >= 0 || left < -10_000 {
				t.Errorf("the counter is at %d, want slightly below zero", left)
			}
		})
	}
}

// When the frames of a deep recursion return, the work that they still do must be charged and checked.
func TestReturningFramesAreChecked(t *testing.T) {
	const frames, work, quantum = 10_000, 100, 10_000
	h := wasmtest.Module{Types: someTypes, Globals: [][]byte{{0x7f, 1, 0x41, 0, 0x0b}}, Funcs: []wasmtest.Func{function("f", tI32ToI32, nil, code(
		0x20, 0, 0x04, 0x40, 0x20, 0, i32(1), 0x6b, 0x10, 0, 0x1a, repeat(work, 0x01), // call f(n-1), then do the work of f(n)
		0x23, 0, i32(1), 0x6a, 0x24, 0, 0x0b, 0x20, 0, 0x0b))}}
	h.Exports = [][]byte{append(text("done"), 3, 0)}
	var most, last uint64
	r := run(t, h.Bytes(), meter.DefaultConfig(), func(api.MutableGlobal) {})
	r.yield = func(fuel api.MutableGlobal) {
		done := r.ExportedGlobal("done").Get()
		most, last = max(most, done-last), done
		fuel.Set(quantum)
	}
	r.must("f", frames)
	if done := r.ExportedGlobal("done").Get(); done != frames || most == 0 || most*work > 2*quantum {
		t.Errorf("%d frames returned, %d of them without a check", done, most)
	}
}

func TestStackIsReleasedOnEveryReturnPath(t *testing.T) {
	// f(n) calls a leaf. Depending on n, it then ends by return, br, br_if or br_table, from nested blocks, or at the end of its body.
	leave := func(parts ...any) []byte { return code(0x20, 0, parts[0], 0x46, 0x04, 0x40, code(parts[1:]...), 0x0b) }
	two := func(n int32) []byte { return code(i32(n), 0x42, 7) } // i64.const 7
	body := code(0x10, 1,
		leave(i32(1), two(10), 0x0f),
		leave(i32(2), two(20), 0x0c, 1),
		leave(i32(3), 0x02, tToI32, two(30), 0x0c, 2, 0x0b, 0x1a),
		0x02, 0x40, 0x03, 0x40, leave(i32(4), two(40), i32(0), 0x0e, 1, 3, 3), 0x0b, 0x0b,
		leave(i32(5), 0x03, 0x40, two(50), 0x0f, 0x0b),
		two(60), 0x20, 0, i32(6), 0x46, 0x0d, 0, 0x1a, 0x1a, two(70), 0x0b)
	h := wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("f", tI32Pair, nil, body), function("", tVoid, nil, code(0x0b))}}
	r := run(t, h.Bytes(), meter.DefaultConfig(), nil)
	for n := range uint64(8) {
		want := []uint64{n * 10, 7}
		if n == 0 || n == 7 {
			want[0] = 70
		}
		if got := r.must("f", n); !slices.Equal(got, want) {
			t.Errorf("f(%d) = %d, want %d", n, got, want)
		}
		if left := r.ExportedGlobal(meter.ExportStack).Get(); left != meter.DefaultStack {
			t.Errorf("after f(%d) the counter is at %d", n, left)
		}
	}
}

func TestCharges(t *testing.T) {
	nothing := function("", tVoid, nil, code(0x0b))
	long := function("", tVoid, nil, code(repeat(50, 0x01), 0x0b))
	caller := func(callee wasmtest.Func, times int) wasmtest.Module {
		return wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("f", tVoid, nil, code(repeat(times, 0x10, 1), 0x0b)), callee}}
	}
	count := func(body ...any) []byte { // returns code that runs body n times
		return code(0x03, 0x40, code(body...), 0x20, 0, i32(1), 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x41, 0, 0x0b)
	}
	const perRound = 5 // instructions of one iteration besides body: local.get, const, sub, tee, br_if
	for _, c := range []struct {
		name string
		h    wasmtest.Module
		args []uint64
		want int64
	}{
		{"a short leaf is charged to its caller, here the host", one(tVoid, nil, code(repeat(30, 0x01), 0x0b)), nil, 0},
		{"straight code costs 1 per instruction", one(tVoid, nil, code(repeat(100, 0x01), 0x0b)), nil, 100},
		{"long straight code too", one(tVoid, nil, code(repeat(10_000, 0x01), 0x0b)), nil, 10_000},
		{"a load costs 2", one(tVoid, nil, code(repeat(50, i32(0), 0x28, 2, 0, 0x1a), 0x0b)), nil, 200},
		{"an if costs the longer arm: then", one(tI32ToI32, nil, code(0x20, 0, 0x04, 0x40, repeat(60, 0x01), 0x05, repeat(40, 0x01), 0x0b, i32(0), 0x0b)), []uint64{1}, 63},
		{"an if costs the longer arm: else", one(tI32ToI32, nil, code(0x20, 0, 0x04, 0x40, repeat(60, 0x01), 0x05, repeat(40, 0x01), 0x0b, i32(0), 0x0b)), []uint64{0}, 63},
		{"skipped code may be free", one(tVoid, nil, code(repeat(40, 0x01), 0x02, 0x40, 0x0c, 0, repeat(500, 0x01), 0x0b, 0x0b)), nil, 42},
		// The charge at the beginning of the function pays for the first iteration. The charge at the branch pays for the next iteration, whether
		// or not the branch is taken.
		{"a loop pays for each iteration", one(tI32ToI32, nil, count(repeat(10, 0x01))), []uint64{100}, 100 * (10 + perRound)},
		{"a call costs 2", caller(nothing, 20), nil, 40},
		{"and the short leaf", caller(function("", tVoid, nil, code(repeat(5, 0x01), 0x0b)), 20), nil, 140},
		{"a longer leaf charges itself", caller(long, 3), nil, 3*2 + 3*50},
		{"a call costs 1 per parameter and result", wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("f", tVoid, nil, code(i32(0), 0x10, 1, 0x1a, 0x0b)), function("", tI32ToI32, nil, code(0x20, 0, 0x0b))}}, nil, 1 + 2 + 2 + 1 + 1},
		{"a call of the host costs 50", wasmtest.Module{Types: someTypes, Imports: []wasmtest.Import{imported("host", "nothing", tVoid)}, Funcs: []wasmtest.Func{function("f", tVoid, nil, code(0x10, 0, 0x10, 0, 0x0b))}}, nil, 104},
		{"memory.fill costs 1 for 8 bytes", one(tVoid, nil, code(i32(0), i32(0), i32(8000), 0xfc, 11, 0, 0x0b)), nil, 1000},
		{"in chunks too", one(tVoid, nil, code(i32(0), i32(0), i32(1<<20), 0xfc, 11, 0, 0x0b)), nil, 1 << 17},
		{"a page costs as much as filling it", one(tVoid, nil, code(i32(2), 0x40, 0, 0x1a, 0x0b)), nil, 252 + 2*8192},
		{"a refused page costs nothing", one(tVoid, nil, code(i32(-5), 0x40, 0, 0x1a, 0x0b)), nil, 252},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.h.Bytes(), meter.DefaultConfig(), nil)
			got := r.cost("f", c.args...)
			if got != c.want {
				t.Errorf("cost %d, want %d", got, c.want)
			}
		})
	}
}

// An instruction of variable length must not process more than 256 KiB, which takes ten microseconds, between two checks.
func TestBulkInstructionsAreDividedIntoChunks(t *testing.T) {
	segment := wasmtest.Module{Data: [][]byte{append([]byte{1}, text(strings.Repeat("x", 1<<20))...)}, Counted: true}
	for name, instruction := range map[string][]byte{"memory.copy": code(0xfc, 10, 0, 0), "memory.fill": code(0xfc, 11, 0), "memory.init": code(0xfc, 8, 0, 0)} {
		for length, want := range map[int32]int{1: 0, 1 << 18: 1, 1<<18 + 1: 1, 1<<18 + 8: 2, 1 << 20: 4} {
			h := one(tVoid, nil, code(i32(0), i32(0), i32(length), instruction, 0x0b))
			h.Data, h.Counted = segment.Data, true
			r := run(t, h.Bytes(), meter.DefaultConfig(), func(fuel api.MutableGlobal) { fuel.Set(0) })
			r.fuel().Set(0)
			r.must("f")
			if r.yields != want {
				t.Errorf("%s of %d bytes: %d checks, want %d", name, length, r.yields, want)
			}
		}
	}
}

func TestBulkHelpersMatchInstructions(t *testing.T) {
	const size = 20 << 16
	copying := one(tRange, nil, code(0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 10, 0, 0, 0x0b))
	filling := one(tRange, nil, code(0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 11, 0, 0x0b))
	segment := make([]byte, 600<<10)
	for i := range segment {
		segment[i] = byte(i*7 + i>>9)
	}
	initing := func(data []byte) wasmtest.Module {
		h := one(tRange, nil, code(0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 8, 0, 0, 0x0b))
		h.Funcs = append(h.Funcs, function("drop", tVoid, nil, code(0xfc, 9, 0, 0x0b)))
		h.Data, h.Counted = [][]byte{append([]byte{1}, text(string(data))...)}, true
		return h
	}
	dropped := initing(segment)
	dropped.Start = []byte{1}
	const chunk = 256 << 10
	lengths := []uint64{0, 1, chunk - 1, chunk, chunk + 1, 2*chunk - 1, 2 * chunk, 2*chunk + 1, 600 << 10, size, size + 1, 0xffffffff}
	starts := []uint64{0, 1, chunk, size - 2*chunk, size - 1, size, size + 1, 0xffffffff}
	for name, h := range map[string]wasmtest.Module{"copy": copying, "fill": filling, "init, long": initing(segment), "init, short": initing(segment[:5000]), "init, dropped": dropped} {
		t.Run(name, func(t *testing.T) {
			plain, metered := runOriginal(t, h.Bytes()), run(t, h.Bytes(), meter.DefaultConfig(), nil)
			for _, length := range lengths {
				for _, to := range starts {
					for _, from := range append(starts, to+1, to-1, to+chunk+3, to-chunk-3) {
						sides := [2]api.Module{plain, metered}
						var failed [2]string
						for i, m := range sides {
							fillPattern(m)
							_, err := m.ExportedFunction("f").Call(t.Context(), to, uint64(uint32(from)), length)
							failed[i] = reason(err)
						}
						if failed[0] != failed[1] || !bytes.Equal(content(plain), content(metered)) {
							t.Fatalf("to %d from %d length %d: %q, and rewritten %q; equal memory: %v", to, uint32(from), length, failed[0], failed[1], bytes.Equal(content(plain), content(metered)))
						}
					}
				}
			}
		})
	}
}

// content returns a view of the whole memory of the instance m.
func content(m api.Module) []byte {
	all, _ := m.Memory().Read(0, m.Memory().Size())
	return all
}

func fillPattern(m api.Module) { copy(content(m), pattern) }

var pattern = func() []byte {
	p := make([]byte, 20<<16)
	for i := range p {
		p[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return p
}()

func TestFunctionReferencesAreRenumbered(t *testing.T) {
	// The module has five functions that return their number, and every construct that can refer to a function.
	h := wasmtest.Module{Types: someTypes, Imports: []wasmtest.Import{imported("host", "nothing", tVoid)}, Tables: [][]byte{{0x70, 0, 20}, {0x70, 0, 20}}}
	for n := range int32(5) {
		h.Funcs = append(h.Funcs, function("", tToI32, nil, code(i32(n+1), 0x0b)))
	}
	at := func(table byte) []byte { return code(0x20, 0, 0x11, tToI32, table, 0x0b) }
	h.Funcs = append(h.Funcs, function("zero", tI32ToI32, nil, at(0)), function("one", tI32ToI32, nil, at(1)),
		function("init", tVoid, nil, code(
			i32(3), i32(0), i32(2), 0xfc, 12, 1, 0, // from a passive segment with indices
			i32(9), i32(0), i32(1), 0xfc, 12, 5, 0, // from a passive segment with expressions
			i32(11), 0xd2, 4, 0x26, 0, // by ref.func
			0x10, 0, 0x0b)))
	h.Exports = [][]byte{append(text("third"), 0, 3)}
	h.Globals = [][]byte{code(0x70, 0, 0xd2, 5, 0x0b)}
	h.Elements = [][]byte{
		code(0, i32(1), 0x0b, 2, 1, 2),
		code(1, 0, 2, 3, 4),
		code(2, 1, i32(1), 0x0b, 0, 1, 5),
		code(3, 0, 1, 4),
		code(4, i32(6), 0x0b, 2, 0xd2, 1, 0x0b, 0xd2, 5, 0x0b),
		code(5, 0x70, 1, 0xd2, 2, 0x0b),
		code(6, 1, i32(7), 0x0b, 0x70, 1, 0xd2, 3, 0x0b),
		code(7, 0x70, 1, 0xd2, 4, 0x0b),
	}
	r := run(t, h.Bytes(), meter.DefaultConfig(), nil)
	r.must("init")
	got := map[string][]uint64{}
	for _, c := range []struct {
		table string
		at    uint64
	}{{"zero", 1}, {"zero", 2}, {"zero", 3}, {"zero", 4}, {"zero", 6}, {"zero", 7}, {"zero", 9}, {"zero", 11}, {"one", 1}, {"one", 7}} {
		got[c.table] = append(got[c.table], r.must(c.table, c.at)[0])
	}
	got["export"] = r.must("third")
	want := map[string][]uint64{"zero": {1, 2, 3, 4, 1, 5, 2, 4}, "one": {5, 3}, "export": {3}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestStackTracesKeepFunctionNames(t *testing.T) {
	h := wasmtest.Module{Types: someTypes, Imports: []wasmtest.Import{imported("host", "nothing", tVoid)}, Funcs: []wasmtest.Func{function("f", tVoid, nil, code(0x10, 2, 0x0b)), function("", tVoid, nil, code(0x00, 0x0b))}}
	names := code(text("name"), 0, text("\x03mod"), 1, text("\x02\x01\x05outer\x02\x05inner"), 2, text("\x01\x02\x01\x00\x01x"))
	for name, c := range map[string]struct {
		custom [][]byte
		want   string
	}{
		"kept":      {[][]byte{code(text(".debug_info"), 1, 2), names}, ".inner()"},
		"absent":    {nil, ".$3()"},
		"truncated": {[][]byte{names[:len(names)-2]}, ".$3()"},
		"not UTF-8": {[][]byte{code(text("name"), 1, text("\x01\x02\x01\xff"))}, ".$3()"},
		"too long":  {[][]byte{code(text("name"), 1, text("\xff\xff\xff\xff\x0f\x02\x01a"))}, ".$3()"},
	} {
		t.Run(name, func(t *testing.T) {
			h := h
			h.Custom = c.custom
			r := run(t, h.Bytes(), meter.DefaultConfig(), nil)
			if _, err := r.call("f"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("no %s in: %v", c.want, err)
			}
			if bytes.Contains(r.result.Module, []byte(".debug_info")) {
				t.Error("debug information is kept although the code has changed")
			}
		})
	}
}

func TestTableSizeIsLimited(t *testing.T) {
	grow := func(limits ...byte) wasmtest.Module {
		h := one(tI32ToI32, nil, code(0xd0, 0x70, 0x20, 0, 0xfc, 15, 0, 0x0b))
		h.Tables = [][]byte{append([]byte{0x70}, limits...)}
		return h
	}
	const refused = 0xffffffff
	config := meter.DefaultConfig()
	config.TableMax = 100
	for name, c := range map[string]struct {
		limits []byte
		by     uint64
		want   uint64
	}{
		"none declared, up to the clamp":   {[]byte{0, 10}, 90, 10},
		"none declared, above the clamp":   {[]byte{0, 10}, 91, refused},
		"a lower maximum stays":            {[]byte{1, 10, 20}, 11, refused},
		"a higher maximum is lowered":      {[]byte{1, 10, 0xff, 0xff, 3}, 91, refused},
		"maximum equal to initial size":    {[]byte{1, 100, 100}, 0, 100},
		"the whole range at once, refused": {[]byte{0, 0}, 0xffffffff, refused},
	} {
		t.Run(name, func(t *testing.T) {
			r := run(t, grow(c.limits...).Bytes(), config, nil)
			if got := r.must("f", c.by)[0]; uint32(got) != uint32(c.want) {
				t.Errorf("table.grow %d: %d, want %d", c.by, int32(got), int32(c.want))
			}
		})
	}
	limit := (*wasm.LimitError)(nil)
	if _, err := meter.Rewrite(grow(0, 101).Bytes(), config); !errors.As(err, &limit) || limit.Have != 101 {
		t.Errorf("a table whose initial size exceeds the limit: %v", err)
	}
}
