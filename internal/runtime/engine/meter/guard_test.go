package meter_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

func TestHostDescriptorsCannotBeClosed(t *testing.T) {
	i32s := func(n int) []byte { return slices.Repeat([]byte{byte(wasm.I32)}, n) }
	module := wasmtest.Module{
		Types:   []wasm.FuncType{{Params: i32s(1), Results: i32s(1)}, {Params: i32s(2), Results: i32s(1)}},
		Imports: []wasmtest.Import{imported("wasi_snapshot_preview1", "fd_close", 0), imported("wasi_snapshot_preview1", "fd_renumber", 1), imported("other", "fd_close", 0)},
		Funcs: []wasmtest.Func{
			function("close", 0, nil, code(0x20, 0, 0x10, 0, 0x0b)),
			function("renumber", 1, nil, code(0x20, 0, 0x20, 1, 0x10, 1, 0x0b)),
			function("indirectly", 0, nil, code(0x20, 0, i32(0), 0x11, 0, 0, 0x0b)),
			function("other", 0, nil, code(0x20, 0, 0x10, 2, 0x0b)),
		},
		Tables:   [][]byte{{0x70, 0, 1}},
		Elements: [][]byte{code(0, i32(0), 0x0b, 1, 0)}, // the element segment refers to the imported function
	}
	result, err := meter.Rewrite(module.Bytes(), meter.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	instantiateYield(t, runtime, func(fuel api.MutableGlobal) { fuel.Set(meter.Quantum) })
	var reached [][]uint32
	closes := func(fd uint32) uint32 { reached = append(reached, []uint32{fd}); return 0 }
	renumbers := func(from, to uint32) uint32 { reached = append(reached, []uint32{from, to}); return 0 }
	if _, err := runtime.NewHostModuleBuilder("wasi_snapshot_preview1").
		NewFunctionBuilder().WithFunc(closes).Export("fd_close").
		NewFunctionBuilder().WithFunc(renumbers).Export("fd_renumber").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := runtime.NewHostModuleBuilder("other").NewFunctionBuilder().WithFunc(closes).Export("fd_close").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := runtime.InstantiateWithConfig(ctx, result.Module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	const refused = 8
	for _, test := range []struct {
		name string
		f    string
		fds  []uint64
		want uint64
	}{
		{"standard input", "close", []uint64{0}, refused},
		{"standard error", "close", []uint64{2}, refused},
		{"the root", "close", []uint64{3}, refused},
		{"its own", "close", []uint64{4}, 0},
		{"an invalid descriptor", "close", []uint64{0xffffffff}, 0},
		{"the root, by call_indirect", "indirectly", []uint64{3}, refused},
		{"its own, by call_indirect", "indirectly", []uint64{7}, 0},
		{"its own replacing the root", "renumber", []uint64{5, 3}, refused},
		{"standard output replacing its own", "renumber", []uint64{1, 5}, refused},
		{"its own replacing another of its own", "renumber", []uint64{5, 6}, 0},
		{"a function of the same name in another module", "other", []uint64{0}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			reached = nil
			got, err := m.ExportedFunction(test.f).Call(ctx, test.fds...)
			if err != nil || got[0] != test.want {
				t.Fatalf("got %v, %v", got, err)
			}
			if (len(reached) == 1) != (test.want == 0) {
				t.Errorf("the host was reached with %v", reached)
			}
		})
	}
}

// Numbers that the host would allocate or loop for are bounded: the call is refused with an errno, or gets the bound.
func TestArgumentsOfWASIAreBounded(t *testing.T) {
	const (
		badf, inval, nametoolong = 8, 28, 37
		path, many               = 4096, 1024
	)
	for _, test := range []struct {
		function   string
		parameters int
		argument   int
		max        uint64
		errno      uint64 // 0 means that the argument becomes max
	}{
		{"fd_renumber", 2, 1, 65535, badf}, {"poll_oneoff", 4, 2, many, inval},
		{"fd_read", 4, 2, many, 0}, {"fd_write", 4, 2, many, 0}, {"sock_recv", 6, 2, many, 0}, {"sock_send", 5, 2, many, 0},
		{"path_create_directory", 3, 2, path, nametoolong}, {"path_filestat_get", 5, 3, path, nametoolong},
		{"path_link", 7, 3, path, nametoolong}, {"path_link", 7, 6, path, nametoolong}, {"path_readlink", 6, 2, path, nametoolong},
		{"path_remove_directory", 3, 2, path, nametoolong}, {"path_rename", 6, 2, path, nametoolong}, {"path_rename", 6, 5, path, nametoolong},
		{"path_symlink", 5, 1, path, nametoolong}, {"path_symlink", 5, 4, path, nametoolong}, {"path_unlink_file", 3, 2, path, nametoolong},
		{"fd_pread", 5, 2, many, 0}, {"fd_pwrite", 5, 2, many, 0}, {"path_open", 9, 3, path, nametoolong}, {"path_filestat_set_times", 7, 3, path, nametoolong},
	} {
		t.Run(fmt.Sprintf("%s %d", test.function, test.argument), func(t *testing.T) {
			types := slices.Repeat([]api.ValueType{api.ValueTypeI32}, test.parameters)
			for _, i := range map[string][]int{"fd_pread": {3}, "fd_pwrite": {3}, "path_open": {5, 6}, "path_filestat_set_times": {4, 5}}[test.function] {
				types[i] = api.ValueTypeI64
			}
			var body []byte
			for i := range types {
				body = append(body, 0x20, byte(i))
			}
			module := wasmtest.Module{
				Types:   []wasm.FuncType{{Params: types, Results: []byte{byte(wasm.I32)}}},
				Imports: []wasmtest.Import{imported("wasi_snapshot_preview1", test.function, 0)},
				Funcs:   []wasmtest.Func{function("f", 0, nil, code(body, 0x10, 0, 0x0b))},
			}
			ctx := context.Background()
			runtime := wazero.NewRuntime(ctx)
			defer runtime.Close(ctx)
			instantiateYield(t, runtime, func(fuel api.MutableGlobal) { fuel.Set(meter.Quantum) })
			reached := ""
			host := func(_ context.Context, stack []uint64) { reached, stack[0] = fmt.Sprint(stack), 0 }
			if _, err := runtime.NewHostModuleBuilder("wasi_snapshot_preview1").NewFunctionBuilder().
				WithGoFunction(api.GoFunc(host), types, []api.ValueType{api.ValueTypeI32}).Export(test.function).Instantiate(ctx); err != nil {
				t.Fatal(err)
			}
			m, err := runtime.InstantiateWithConfig(ctx, rewrite(t, module.Bytes()).Module, wazero.NewModuleConfig().WithName(""))
			if err != nil {
				t.Fatal(err)
			}
			arguments := make([]uint64, test.parameters)
			arguments[0] = 4
			for _, given := range []uint64{test.max, test.max + 1, 1 << 31, 1<<32 - 1} {
				reached, arguments[test.argument] = "", min(given, test.max)
				want, errno := fmt.Sprint(arguments), uint64(0)
				if given > test.max && test.errno != 0 {
					want, errno = "", test.errno
				}
				arguments[test.argument] = given
				if got, err := m.ExportedFunction("f").Call(ctx, arguments...); err != nil || got[0] != errno || reached != want {
					t.Errorf("%d: got %v, %v, and the host got %s; want %d, %s", given, got, err, reached, errno, want)
				}
			}
		})
	}
}

func TestWASICallsAreCharged(t *testing.T) {
	i32s := func(n int) []byte { return slices.Repeat([]byte{byte(wasm.I32)}, n) }
	module := wasmtest.Module{
		Types:   []wasm.FuncType{{Params: i32s(2), Results: i32s(1)}, {}},
		Imports: []wasmtest.Import{imported("wasi_snapshot_preview1", "random_get", 0)},
		Funcs: []wasmtest.Func{
			function("f", 1, nil, code(repeat(100, i32(0), i32(8), 0x10, 0, 0x1a), 0x0b)),
			function("by_table", 1, nil, code(repeat(100, i32(0), i32(8), i32(0), 0x11, 0, 0, 0x1a), 0x0b)),
		},
		Tables:   [][]byte{{0x70, 0, 1}},
		Elements: [][]byte{code(0, i32(0), 0x0b, 1, 0)},
	}
	result := rewrite(t, module.Bytes())
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	asked, most := 0, 0
	instantiateYield(t, runtime, func(fuel api.MutableGlobal) {
		most, asked = max(most, asked), 0
		fuel.Set(meter.Quantum)
	})
	if _, err := runtime.NewHostModuleBuilder("wasi_snapshot_preview1").
		NewFunctionBuilder().WithFunc(func(_, _ uint32) uint32 { asked++; return 0 }).Export("random_get").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := runtime.InstantiateWithConfig(ctx, result.Module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"f", "by_table"} {
		most, asked = 0, 0
		if _, err := m.ExportedFunction(f).Call(ctx); err != nil {
			t.Fatal(err)
		}
		if most == 0 || most > 50 {
			t.Errorf("%s: %d calls between two checks", f, most)
		}
	}
}

func TestGuardReplacesEIO(t *testing.T) {
	const full = 51
	i32s := func(n int) []byte { return slices.Repeat([]byte{byte(wasm.I32)}, n) }
	module := wasmtest.Module{
		Types:   []wasm.FuncType{{Params: i32s(1), Results: i32s(1)}, {Params: i32s(1)}},
		Imports: []wasmtest.Import{imported("wasi_snapshot_preview1", "fd_sync", 0), imported("wasi_snapshot_preview1", "proc_exit", 1), imported("other", "fd_sync", 0)},
		Funcs: []wasmtest.Func{
			function("sync", 0, nil, code(0x20, 0, 0x10, 0, 0x0b)),
			function("exit", 1, nil, code(0x20, 0, 0x10, 1, 0x0b)),
			function("other", 0, nil, code(0x20, 0, 0x10, 2, 0x0b)),
		},
	}
	ctx := context.Background()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	instantiateYield(t, runtime, func(fuel api.MutableGlobal) { fuel.Set(meter.Quantum) })
	returns := func(errno uint32) uint32 { return errno }
	if _, err := runtime.NewHostModuleBuilder("wasi_snapshot_preview1").NewFunctionBuilder().WithFunc(returns).Export("fd_sync").
		NewFunctionBuilder().WithFunc(func(uint32) {}).Export("proc_exit").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := runtime.NewHostModuleBuilder("other").NewFunctionBuilder().WithFunc(returns).Export("fd_sync").Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
	m, err := runtime.InstantiateWithConfig(ctx, rewrite(t, module.Bytes()).Module, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		t.Fatal(err)
	}
	errno := m.ExportedGlobal(meter.ExportErrno).(api.MutableGlobal)
	call := func(name string, returned, want uint64) {
		t.Helper()
		got, err := m.ExportedFunction(name).Call(ctx, returned)
		if err != nil || got[0] != want {
			t.Errorf("%s: got %v, %v for the errno %d, want %d", name, got, err, returned, want)
		}
	}
	call("sync", meter.ErrnoIO, meter.ErrnoIO)
	errno.Set(full)
	call("sync", 0, 0)
	call("sync", 44, 44)
	call("other", meter.ErrnoIO, meter.ErrnoIO)
	call("sync", meter.ErrnoIO, full)
	call("sync", meter.ErrnoIO, meter.ErrnoIO)
	if _, err := m.ExportedFunction("exit").Call(ctx, meter.ErrnoIO); err != nil {
		t.Errorf("a function without result: %v", err)
	}
}
