package meter_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
)

// handmade is a module put together by hand. Everything that is set becomes a section.
type handmade struct {
	types    []wasm.FuncType
	imports  []handmadeImport
	funcs    []handmadeFunc // exported under their names
	tables   [][]byte
	memory   []byte // limits
	globals  [][]byte
	exports  [][]byte // besides the functions
	start    []byte
	elements [][]byte
	data     [][]byte
	counted  bool // write a data count section
	custom   [][]byte
}

// handmadeImport is a function.
type handmadeImport struct {
	module, name string
	typ          byte
}

type handmadeFunc struct {
	name   string
	typ    byte
	locals []byte // declarations with their number; nil: none
	code   []byte // with its end
}

func (h handmade) bytes() []byte {
	out := wasm.Header()
	section := func(id wasm.SectionID, entries [][]byte) {
		if len(entries) > 0 {
			out = wasm.AppendSection(out, id, vector(entries))
		}
	}
	var types, imports, funcs, exports, bodies [][]byte
	for _, t := range h.types {
		types = append(types, slices.Concat([]byte{0x60}, text(string(t.Params)), text(string(t.Results))))
	}
	for _, i := range h.imports {
		imports = append(imports, slices.Concat(text(i.module), text(i.name), []byte{0, i.typ}))
	}
	for i, f := range h.funcs {
		funcs = append(funcs, []byte{f.typ})
		if f.name != "" {
			exports = append(exports, slices.Concat(text(f.name), []byte{0}, wasm.AppendU32(nil, uint32(len(h.imports)+i))))
		}
		locals := f.locals
		if locals == nil {
			locals = []byte{0}
		}
		bodies = append(bodies, text(string(slices.Concat(locals, f.code))))
	}
	section(wasm.SectionType, types)
	section(wasm.SectionImport, imports)
	section(wasm.SectionFunction, funcs)
	section(wasm.SectionTable, h.tables)
	if h.memory != nil {
		section(wasm.SectionMemory, [][]byte{h.memory})
		exports = append(exports, append(text("memory"), 2, 0))
	}
	section(wasm.SectionGlobal, h.globals)
	section(wasm.SectionExport, append(exports, h.exports...))
	if h.start != nil {
		out = wasm.AppendSection(out, wasm.SectionStart, h.start)
	}
	section(wasm.SectionElement, h.elements)
	if h.counted {
		out = wasm.AppendSection(out, wasm.SectionDataCount, []byte{byte(len(h.data))})
	}
	section(wasm.SectionCode, bodies)
	section(wasm.SectionData, h.data)
	for _, c := range h.custom {
		out = wasm.AppendSection(out, wasm.SectionCustom, c)
	}
	return out
}

func vector(entries [][]byte) []byte {
	return append(wasm.AppendU32(nil, uint32(len(entries))), slices.Concat(entries...)...)
}

func text(s string) []byte { return wasm.AppendVector(nil, []byte(s)) }

// code joins instructions: opcodes as numbers, and slices.
func code(parts ...any) []byte {
	var out []byte
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, byte(p))
		case byte:
			out = append(out, p)
		case []byte:
			out = append(out, p...)
		default:
			panic(fmt.Sprintf("%T is no code", p))
		}
	}
	return out
}

func i32(n int32) []byte { return wasm.AppendS64([]byte{0x41}, int64(n)) }

func repeat(n int, parts ...any) []byte { return slices.Repeat(code(parts...), n) }

// The types that the tests share, by their place.
const (
	tVoid = iota // () -> ()
	tToI32
	tI32ToI32
	tRange   // (i32 i32 i32) -> ()
	tToPair  // () -> (i32 i32)
	tI32Pair // (i32) -> (i32 i64)
)

var someTypes = func() []wasm.FuncType {
	const i32, i64 = "\x7f", "\x7e"
	return []wasm.FuncType{
		{}, {Results: []byte(i32)}, {Params: []byte(i32), Results: []byte(i32)}, {Params: []byte(i32 + i32 + i32)},
		{Results: []byte(i32 + i32)}, {Params: []byte(i32), Results: []byte(i32 + i64)},
	}
}()

// running is an instance of a rewritten module.
type running struct {
	api.Module
	tb     testing.TB
	result meter.Result
	yields int
}

// run makes an instance of a module, rewritten, whose fuel starts at fuel, and which yield is called for; nil
// stands for one that refills it.
func run(tb testing.TB, module []byte, config meter.Config, yield func(api.MutableGlobal)) *running {
	tb.Helper()
	r, err := tryRun(tb, module, config, yield)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func tryRun(tb testing.TB, module []byte, config meter.Config, yield func(api.MutableGlobal)) (*running, error) {
	tb.Helper()
	ctx := context.Background()
	result, err := meter.Rewrite(module, config)
	if err != nil {
		tb.Fatal(err)
	}
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2))
	tb.Cleanup(func() { runtime.Close(ctx) })
	r := &running{tb: tb, result: result}
	instantiateYield(tb, runtime, func(fuel api.MutableGlobal) {
		if r.yields++; yield == nil {
			fuel.Set(meter.Quantum)
			return
		}
		yield(fuel)
	})
	host := runtime.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func() {}).Export("nothing")
	if _, err := host.Instantiate(ctx); err != nil {
		tb.Fatal(err)
	}
	r.Module, err = runtime.InstantiateWithConfig(ctx, result.Module, wazero.NewModuleConfig().WithName(""))
	return r, err
}

func (r *running) call(name string, args ...uint64) ([]uint64, error) {
	return r.ExportedFunction(name).Call(context.Background(), args...)
}

func (r *running) must(name string, args ...uint64) []uint64 {
	r.tb.Helper()
	results, err := r.call(name, args...)
	if err != nil {
		r.tb.Fatal(err)
	}
	return results
}

func (r *running) fuel() api.MutableGlobal {
	return r.ExportedGlobal(meter.ExportFuel).(api.MutableGlobal)
}

// cost is what a call takes off the fuel.
func (r *running) cost(name string, args ...uint64) int64 {
	r.tb.Helper()
	const plenty = 1 << 40
	r.fuel().Set(plenty)
	r.must(name, args...)
	return plenty - int64(r.fuel().Get())
}

// plainly makes an instance of a module that is not rewritten.
func plainly(tb testing.TB, module []byte) api.Module {
	tb.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2))
	tb.Cleanup(func() { runtime.Close(ctx) })
	m, err := runtime.Instantiate(ctx, module)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}
