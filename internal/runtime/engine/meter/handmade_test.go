package meter_test

import (
	"context"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// Short names for functions that assemble modules.
var (
	code   = wasmtest.Code
	i32    = wasmtest.I32
	repeat = wasmtest.Repeat
	text   = wasmtest.Text
	vector = wasmtest.Vector
)

func function(name string, typ byte, locals, code []byte) wasmtest.Func {
	return wasmtest.Func{Name: name, Type: typ, Locals: locals, Code: code}
}

func imported(module, name string, typ byte) wasmtest.Import {
	return wasmtest.Import{Module: module, Name: name, Type: typ}
}

// Indices of the types in someTypes.
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
	yield  func(api.MutableGlobal)
}

// run rewrites a module and instantiates the result. yield is the imported function; if it is nil, a function that refills the fuel is
// imported.
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
	r := &running{tb: tb, result: result, yield: yield}
	instantiateYield(tb, runtime, func(fuel api.MutableGlobal) {
		if r.yields++; r.yield == nil {
			fuel.Set(meter.Quantum)
			return
		}
		r.yield(fuel)
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

// cost returns the fuel that a call of the function called name uses.
func (r *running) cost(name string, args ...uint64) int64 {
	r.tb.Helper()
	const plenty = 1 << 40
	r.fuel().Set(plenty)
	r.must(name, args...)
	return plenty - int64(r.fuel().Get())
}

// runOriginal instantiates a module without rewriting it.
func runOriginal(tb testing.TB, module []byte) api.Module {
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
