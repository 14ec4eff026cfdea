package meter

import (
	"context"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// Indices of the locals of the functions that dispatching returns.
const (
	localInput = iota
	localPC
	localTrace
	localOther
)

// Beginnings of a loop. Each has a dispatch on localPC with three blocks, which lead to three parts.
var (
	usualLabels = []byte{2, 0, 1, 2}
	usualStart  = wasmtest.Code(0x03, 0x40, 0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, localPC, 0x0e, usualLabels)
)

// dispatching returns a module whose function f(input) records which of three parts it runs. Part number at begins with jump, which it
// executes at most input times.
func dispatching(start []byte, at int, jump []byte) wasmtest.Module {
	const i32 = byte(wasm.I32)
	body := wasmtest.Code(0x02, 0x40, start)
	for part := range 3 {
		body = append(body, wasmtest.Code(0x0b, 0x20, localTrace, wasmtest.I32(10), 0x6c, wasmtest.I32(int32(part)+1), 0x6a, 0x21, localTrace)...)
		if part == at {
			body = append(body, wasmtest.Code(0x20, localInput, 0x04, 0x40, 0x20, localInput, wasmtest.I32(1), 0x6b, 0x21, localInput, jump, 0x0b)...)
		}
	}
	body = append(body, wasmtest.Code(0x0b, 0x0b, 0x20, localTrace, 0x0b)...)
	return wasmtest.Module{
		Types: []wasm.FuncType{{}, {Params: []byte{i32}, Results: []byte{i32}}},
		Funcs: []wasmtest.Func{{Name: "f", Type: 1, Locals: []byte{1, 3, i32}, Code: body}, {Code: []byte{0x0b}}},
	}
}

// jumpTo returns a jump to a part. The jump is inside an if of part number at.
func jumpTo(part int32, at int) []byte {
	return wasmtest.Code(wasmtest.I32(part), 0x21, localPC, 0x0c, 3-at)
}

func TestForwardJumpsSkipTheDispatch(t *testing.T) {
	long := wasmtest.Code(0x03, 0x40, 0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, localPC, 0x0e, 100, 0, slices.Repeat([]byte{2}, 99), 1)
	for name, c := range map[string]struct {
		module wasmtest.Module
		moved  int
		want   []uint64 // results of f(0), f(1) and f(2)
	}{
		"forward by two":               {dispatching(usualStart, 0, jumpTo(2, 0)), 1, []uint64{123, 13, 13}},
		"forward by one":               {dispatching(usualStart, 1, jumpTo(2, 1)), 1, []uint64{123, 123, 123}},
		"by the default label":         {dispatching(usualStart, 0, jumpTo(7, 0)), 1, []uint64{123, 13, 13}},
		"in a function with calls":     {dispatching(usualStart, 0, wasmtest.Code(0x10, 1, jumpTo(2, 0))), 1, []uint64{123, 13, 13}},
		"with blocks of an empty type": {dispatching(wasmtest.Code(0x03, 0x40, 0x02, 0, 0x02, 0, 0x02, 0, 0x20, localPC, 0x0e, usualLabels), 0, jumpTo(2, 0)), 1, []uint64{123, 13, 13}},
		"by a constant of five bytes":  {dispatching(usualStart, 0, wasmtest.Code(0x41, 0x82, 0x80, 0x80, 0x80, 0, 0x21, localPC, 0x0c, 3)), 1, []uint64{123, 13, 13}},
		"by a constant above 63":       {dispatching(long, 0, jumpTo(64, 0)), 1, []uint64{123, 13, 13}},

		"to the same part":                  {dispatching(usualStart, 1, jumpTo(1, 1)), 0, []uint64{123, 1223, 12223}},
		"backward":                          {dispatching(usualStart, 2, jumpTo(0, 2)), 0, []uint64{123, 123123, 123123123}},
		"by a negative constant":            {dispatching(long, 0, jumpTo(-64, 0)), 0, []uint64{123, 123, 123}},
		"by a negative constant of 5 bytes": {dispatching(usualStart, 0, jumpTo(-1<<31, 0)), 0, []uint64{123, 13, 13}},
		"by another local":                  {dispatching(usualStart, 0, wasmtest.Code(wasmtest.I32(2), 0x21, localOther, 0x0c, 3)), 0, []uint64{123, 1123, 11123}},
		"by a value that is not constant":   {dispatching(usualStart, 0, wasmtest.Code(wasmtest.I32(1), wasmtest.I32(1), 0x6a, 0x21, localPC, 0x0c, 3)), 0, []uint64{123, 13, 13}},
		"by a local that changes before it": {dispatching(usualStart, 0, wasmtest.Code(wasmtest.I32(2), 0x21, localPC, 0x20, localTrace, 0x21, localPC, 0x0c, 3)), 0, []uint64{123, 123, 123}},
		"out of the dispatching loop":       {dispatching(usualStart, 0, wasmtest.Code(wasmtest.I32(2), 0x21, localPC, 0x0c, 4)), 0, []uint64{123, 1, 1}},
		"to a label outside the loop":       {dispatching(wasmtest.Code(usualStart[:len(usualStart)-4], 2, 0, 4, 2), 0, jumpTo(1, 0)), 0, []uint64{123, 1, 1}},
		"of a loop that has an effect first": {dispatching(wasmtest.Code(0x03, 0x40, 0x20, localOther, wasmtest.I32(1), 0x6a, 0x22, localOther, 0x21, localTrace,
			usualStart[2:]), 0, jumpTo(2, 0)), 0, []uint64{1123, 23, 23}},
		"of blocks with an effect between": {dispatching(wasmtest.Code(usualStart[:6], 0x20, localOther, wasmtest.I32(1), 0x6a, 0x22, localOther, 0x21, localTrace,
			usualStart[6:]), 0, jumpTo(2, 0)), 0, []uint64{1123, 23, 23}},
		"of a dispatch with an effect": {dispatching(wasmtest.Code(usualStart[:8], 0x20, localPC, 0x22, localOther, 0x0e, usualLabels), 0, jumpTo(2, 0)), 0, []uint64{123, 13, 13}},
	} {
		t.Run(name, func(t *testing.T) {
			module := c.module.Bytes()
			m, err := wasm.Decode(module, DefaultConfig().Bounds)
			if err != nil {
				t.Fatal(err)
			}
			w := newRewriter(m, DefaultConfig())
			if err := w.scan.read(m.Bodies[0], m.FuncType(0)); err != nil {
				t.Fatal(err)
			}
			moved := 0
			for _, step := range w.scan.steps {
				if step.moved {
					moved++
				}
			}
			if moved != c.moved {
				t.Errorf("%d branches were changed, want %d", moved, c.moved)
			}
			result, err := Rewrite(module, DefaultConfig())
			if err != nil {
				t.Fatal(err)
			}
			for name, module := range map[string][]byte{"original": module, "rewritten": result.Module} {
				if got := results(t, module); !slices.Equal(got, c.want) {
					t.Errorf("%s: results %d, want %d", name, got, c.want)
				}
			}
		})
	}
}

// results returns the results of f(0), f(1) and f(2) of a new instance.
func results(t *testing.T, module []byte) (all []uint64) {
	runtime := wazero.NewRuntime(t.Context())
	defer runtime.Close(t.Context())
	refill := func(_ context.Context, m api.Module, _ []uint64) {
		m.ExportedGlobal(ExportFuel).(api.MutableGlobal).Set(Quantum)
	}
	host := runtime.NewHostModuleBuilder(ImportModule).NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(refill), nil, nil).Export(ImportYield)
	if _, err := host.Instantiate(t.Context()); err != nil {
		t.Fatal(err)
	}
	m, err := runtime.Instantiate(t.Context(), module)
	if err != nil {
		t.Fatal(err)
	}
	for input := range uint64(3) {
		got, err := m.ExportedFunction("f").Call(t.Context(), input)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, got[0])
	}
	return all
}
