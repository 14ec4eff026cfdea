//go:build unix

package hostile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// misuse is an invalid call of an imported function.
type misuse struct {
	name    string
	code    []byte // code of the call; it leaves the operand stack unchanged
	failure string // code of the host failure; empty if the function returns an error and the call goes on
}

// misuses returns invalid calls of the ABI's functions. Invalid pointers and lengths end the call.
func misuses() []misuse {
	const last = 65535 // address of the last byte of the memory
	var all []misuse
	add := func(name string, function byte, failure string, args ...int32) {
		instructions := invoke(function, args...)
		if function == wasmtest.HostCall {
			instructions = code(instructions, drop)
		}
		all = append(all, misuse{name, instructions, failure})
	}
	for _, f := range []struct {
		name  string
		index byte
		level []int32 // arguments that precede the pointer
	}{{"input", wasmtest.Input, nil}, {"output", wasmtest.Output, nil}, {"host_call", wasmtest.HostCall, nil}, {"host_result", wasmtest.HostResult, nil}, {"log", wasmtest.Log, []int32{3}}} {
		at := func(pointer, length int32) []int32 { return append(slices.Clone(f.level), pointer, length) }
		add(f.name+" beyond the memory", f.index, "abi_misuse", at(last+1, 1)...)
		add(f.name+" across the end of the memory", f.index, "abi_misuse", at(last, 2)...)
		add(f.name+" of the maximum length", f.index, "abi_misuse", at(0, -1)...)
		add(f.name+" with an end that overflows", f.index, "abi_misuse", at(-1, 2)...)
		add(f.name+" at the last address", f.index, "abi_misuse", at(-1, -1)...)
	}
	add("input with length 0", wasmtest.Input, "abi_misuse", 0, 0)
	add("input with a wrong length", wasmtest.Input, "abi_misuse", 0, 7)
	add("a result before any operation", wasmtest.HostResult, "abi_misuse", 0, 0)
	add("an operation that is not JSON", wasmtest.HostCall, "", 1000, 5)
	add("an operation of length 0", wasmtest.HostCall, "", 0, 0)
	all = append(all,
		misuse{"a result with a wrong length", code(invoke(wasmtest.HostCall, 0, 0), drop, invoke(wasmtest.HostResult, 0, 1)), "abi_misuse"},
		misuse{"a result that overwrites its operation", code(num(0), invoke(wasmtest.HostCall, 0, 0), callFunc, wasmtest.HostResult), ""})
	return all
}

// wasiFunctions are the WASI functions of the host, without proc_exit.
func wasiFunctions(t *testing.T) []api.FunctionDefinition {
	t.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer runtime.Close(ctx)
	compiled, err := wasi_snapshot_preview1.NewBuilder(runtime).Compile(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var all []api.FunctionDefinition
	for name, f := range compiled.ExportedFunctions() {
		if name != "proc_exit" {
			all = append(all, f)
		}
	}
	if len(all) < 40 {
		t.Fatalf("found only %d WASI functions", len(all))
	}
	slices.SortFunc(all, func(a, b api.FunctionDefinition) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// badArguments are arguments that are invalid for every function. The field first is the value of the first argument, which
// may be a descriptor. The field rest is the value of each other argument.
var badArguments = []struct {
	name        string
	first, rest int32
}{
	{"beyond the memory", -1, -1}, {"across the end of the memory", 3, 65535}, {"far beyond the memory", 1, 0x7fffffff}, {"overlapping", 1, 8},
	{"overlapping, on the root", 3, 16}, {"zero", 0, 0},
}

// wasiMisuses calls each WASI function with badArguments. It adds the imports to the module.
func wasiMisuses(t *testing.T, m *wasmtest.Module) []misuse {
	var all []misuse
	for _, f := range wasiFunctions(t) {
		index := byte(len(m.Imports))
		m.Imports = append(m.Imports, wasi(f.Name(), byte(len(m.Types))))
		m.Types = append(m.Types, wasm.FuncType{Params: f.ParamTypes(), Results: f.ResultTypes()})
		for _, bad := range badArguments {
			var call []byte
			for i, typ := range f.ParamTypes() {
				value := bad.rest
				if i == 0 {
					value = bad.first
				}
				if typ == api.ValueTypeI64 {
					call = append(call, wasmtest.I64(int64(value))...)
				} else {
					call = append(call, num(value)...)
				}
			}
			call = code(call, callFunc, index)
			if len(f.ResultTypes()) > 0 {
				call = append(call, drop)
			}
			one := misuse{name: f.Name() + " " + bad.name, code: call}
			if f.Name() == "fd_filestat_set_times" && (bad.name == "overlapping" || bad.name == "zero") {
				one.failure = "trap" // wazero 1.12 dereferences a nil pointer for stdio; this only ends the call
			}
			all = append(all, one)
		}
	}
	poll := byte(slices.IndexFunc(m.Imports, func(i wasmtest.Import) bool { return i.Name == "poll_oneoff" }))
	return append(all, misuse{"poll_oneoff with a count that overflows", code(invoke(poll, 0, 0, 1<<28, 64), num(28), notEqual, ifThen, void, unreachable, end), ""}) // EINVAL
}

// withCases makes a module run one of the cases, selected by the last three digits of its request.
func withCases(m wasmtest.Module, all []misuse) wasmtest.Module {
	const request, first = 4096, 100
	digit := func(from int32, times int32) []byte { // a digit of the request, in which three braces follow the last digit
		return code(localGet, 0, num(request-from), add, load8, 0, 0, num(times), mul)
	}
	choice := code(digit(6, 100), digit(5, 10), add, digit(4, 1), add, num(first+111*'0'), sub)
	var labels, cases []byte
	for i := range all {
		labels = append(labels, leb(i)...)
	}
	for i, one := range all {
		cases = code(cases, one.code, br, leb(len(all)-i), end)
	}
	m.Data, m.Counted = [][]byte{code(1, wasmtest.Text(done))}, true
	answer := code( // first restores the answer in memory, which a case may have overwritten
		num(0), num(0), num(int32(len(done))), prefixFC, 8, 0, 0, invoke(wasmtest.Output, 0, int32(len(done))))
	m.Funcs[1].Code = code(num(request), localGet, 0, callFunc, wasmtest.Input,
		block, void, repeat(len(all)+1, block, void), choice, brTable, leb(len(all)), labels, leb(len(all)), end, cases, unreachable, end,
		answer, end)
	return m
}

func leb(n int) []byte { return wasm.AppendU32(nil, uint32(n)) }

// TestInvalidPointersAndLengthsAreRejected calls every function that a module can import with out-of-range,
// overlapping and overflowing arguments.
func TestInvalidPointersAndLengthsAreRejected(t *testing.T) {
	t.Parallel()
	m := wasmtest.Plugin(nil, "")
	all := misuses()
	all = append(all, wasiMisuses(t, &m)...)
	w := newWorkspace(t)
	w.addModule("misuser", withCases(m, all).Bytes(), "")
	s := w.serve()
	for i, one := range all {
		t.Run(one.name, func(t *testing.T) {
			got := s.call("misuser", fmt.Sprintf(`{"n":%d}`, 100+i))
			if got.Failure != one.failure || one.failure == "" && got.Text != "done" {
				t.Errorf("got %+v, want the failure %q", got, one.failure)
			}
		})
	}
	s.checkOthers()
	s.end()
	for i, r := range w.calls("misuser") {
		if r.Code != all[i].failure {
			t.Errorf("%s: got audit record %+v", all[i].name, r)
		}
	}
}
