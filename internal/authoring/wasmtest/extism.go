package wasmtest

import (
	"encoding/binary"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// Types of the functions of an ExtismModule.
const (
	extismVoid    = iota // () -> ()
	ExtismExport         // () -> i32
	extismTo64           // () -> i64
	extism64             // (i64) -> ()
	extism64To32         // (i64) -> i32
	extism64To64         // (i64) -> i64
	extismTwo            // (i64 i64) -> ()
	extism64And32        // (i64 i32) -> ()
	extismTwoTo64        // (i64 i64) -> i64
)

var extismTypes = func() []wasm.FuncType {
	const i32, i64 = byte(wasm.I32), byte(wasm.I64)
	return []wasm.FuncType{
		{}, {Results: []byte{i32}}, {Results: []byte{i64}}, {Params: []byte{i64}}, {Params: []byte{i64}, Results: []byte{i32}},
		{Params: []byte{i64}, Results: []byte{i64}}, {Params: []byte{i64, i64}}, {Params: []byte{i64, i32}}, {Params: []byte{i64, i64}, Results: []byte{i64}},
	}
}()

// ExtismImports are the 25 functions of the Extism kernel and the 12 of hyper-mcp, as modules import them.
var ExtismImports = func() []Import {
	const kernel, user = "extism:host/env", "extism:host/user"
	return []Import{
		{kernel, "input_length", extismTo64}, {kernel, "input_load_u8", extism64To32}, {kernel, "input_load_u64", extism64To64},
		{kernel, "length", extism64To64}, {kernel, "length_unsafe", extism64To64}, {kernel, "alloc", extism64To64}, {kernel, "free", extism64},
		{kernel, "output_set", extismTwo}, {kernel, "error_set", extism64},
		{kernel, "store_u8", extism64And32}, {kernel, "load_u8", extism64To32}, {kernel, "store_u64", extismTwo}, {kernel, "load_u64", extism64To64},
		{kernel, "config_get", extism64To64}, {kernel, "var_get", extism64To64}, {kernel, "var_set", extismTwo},
		{kernel, "http_request", extismTwoTo64}, {kernel, "http_status_code", ExtismExport}, {kernel, "http_headers", extismTo64},
		{kernel, "log_info", extism64}, {kernel, "log_debug", extism64}, {kernel, "log_warn", extism64}, {kernel, "log_error", extism64},
		{kernel, "log_trace", extism64}, {kernel, "get_log_level", ExtismExport},
		{user, "create_elicitation", extism64To64}, {user, "create_message", extism64To64}, {user, "get_access_token", extism64To64},
		{user, "get_keyring_secret", extism64To64}, {user, "list_roots", extismTo64}, {user, "notify_logging_message", extism64},
		{user, "notify_progress", extism64}, {user, "notify_prompt_list_changed", extismVoid}, {user, "notify_resource_list_changed", extismVoid},
		{user, "notify_resource_updated", extism64}, {user, "notify_tool_list_changed", extismVoid}, {user, "notify_url_elicitation_completed", extism64},
	}
}()

// Extism returns a module that exports functions without parameters, each of which returns 0 after its code. The code has ten locals of type i64.
func Extism(exports map[string][]byte) Module {
	m := Module{Types: extismTypes, Imports: ExtismImports, Memory: []byte{0, 1}}
	for name, code := range exports {
		m.Funcs = append(m.Funcs, Func{Name: name, Type: ExtismExport, Locals: []byte{1, 10, byte(wasm.I64)}, Code: Code(code, I32(0), 0x0b)})
	}
	return m
}

// Host returns code that calls an import of an Extism module with arguments, given as code.
func Host(name string, arguments ...[]byte) []byte {
	for i, f := range ExtismImports {
		if f.Name == name {
			return Code(slices.Concat(arguments...), 0x10, wasm.AppendU32(nil, uint32(i)))
		}
	}
	panic("no import " + name)
}

// Get returns code that gets a local.
func Get(local byte) []byte { return []byte{0x20, local} }

// Set returns code that sets a local to the value of code.
func Set(local byte, value []byte) []byte { return Code(value, 0x21, local) }

// Block returns code that allocates a block with text, and sets a local to its address.
func Block(local byte, text string) []byte {
	code := Set(local, Host("alloc", I64(int64(len(text)))))
	at := func(i int) []byte { return Code(Get(local), I64(int64(i)), 0x7c) }
	i := 0
	for ; i+8 <= len(text); i += 8 {
		code = append(code, Host("store_u64", at(i), I64(int64(binary.LittleEndian.Uint64([]byte(text[i:])))))...)
	}
	for ; i < len(text); i++ {
		code = append(code, Host("store_u8", at(i), I32(int32(text[i])))...)
	}
	return code
}

// Give returns code that sets the output to text, and a local to the address of its block.
func Give(local byte, text string) []byte {
	return Code(Block(local, text), Host("output_set", Get(local), I64(int64(len(text)))))
}

// Expect64 returns code that traps unless a value of type i64 is as wanted.
func Expect64(want int64, value []byte) []byte {
	return Code(value, I64(want), 0x52, 0x04, 0x40, 0x00, 0x0b)
}

// Expect32 returns code that traps unless a value of type i32 is as wanted.
func Expect32(want int32, value []byte) []byte {
	return Code(value, I32(want), 0x47, 0x04, 0x40, 0x00, 0x0b)
}

// ExpectText returns code that traps unless the block at the address in a local has the content want.
func ExpectText(local byte, want string) []byte {
	code := Expect64(int64(len(want)), Host("length", Get(local)))
	for i := range len(want) {
		code = append(code, Expect32(int32(want[i]), Host("load_u8", Code(Get(local), I64(int64(i)), 0x7c)))...)
	}
	return code
}
