//go:build unix

package hostile

import (
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// WebAssembly opcodes and types of the modules.
const (
	unreachable = 0x00
	block       = 0x02
	loop        = 0x03
	ifThen      = 0x04
	notEqual    = 0x47
	end         = 0x0b
	br          = 0x0c
	brIf        = 0x0d
	brTable     = 0x0e
	returnOp    = 0x0f // return
	callFunc    = 0x10
	indirect    = 0x11
	drop        = 0x1a
	localGet    = 0x20
	localSet    = 0x21
	globalGet   = 0x23
	globalSet   = 0x24
	tableGet    = 0x25
	tableSet    = 0x26
	load8       = 0x2d
	store8      = 0x3a
	store64     = 0x37
	memorySize  = 0x3f
	memoryGrow  = 0x40
	eqz         = 0x45
	eq          = 0x46
	ltU         = 0x49
	add         = 0x6a
	sub         = 0x6b
	mul         = 0x6c
	refNull     = 0xd0
	isNull      = 0xd1
	prefixFC    = 0xfc // prefix of memory.init 8, data.drop 9, memory.copy 10, .fill 11, table.init 12, elem.drop 13, .copy 14, .grow 15
	prefixFD    = 0xfd
	void        = 0x40
	i32         = 0x7f
	funcref     = 0x70
)

// Short names for the tables below.
var (
	code   = wasmtest.Code
	num    = wasmtest.I32
	invoke = wasmtest.Invoke
	repeat = wasmtest.Repeat
)

// done is the response of a module that reached its end.
const done = `{"result":{"content":[{"type":"text","text":"done"}]}}`

// answering returns code that runs parts and then answers with done, which must be the module's data.
func answering(parts ...any) []byte {
	return code(code(parts...), invoke(wasmtest.Output, 0, int32(len(done))))
}

// plugin returns a module whose calls run parts and then answer with done.
func plugin(parts ...any) wasmtest.Module { return wasmtest.Plugin(answering(parts...), done) }

func forever(parts ...any) []byte { return code(loop, void, code(parts...), br, 0, end) }

// exceptAtLoad returns code that runs other for bulkhead/describe, and parts for calls. It distinguishes the two by the
// length of the request, which is shorter for bulkhead/describe.
func exceptAtLoad(other []byte, parts ...any) []byte { return exceptUpTo(40, other, parts...) }

// exceptUpTo returns code that runs other for requests shorter than length, and parts for all other requests.
func exceptUpTo(length int32, other []byte, parts ...any) []byte {
	return code(localGet, 0, num(length), ltU, ifThen, void, other, returnOp, end, code(parts...))
}

// with returns the module after the function change has modified it.
func with(m wasmtest.Module, change func(*wasmtest.Module)) wasmtest.Module {
	change(&m)
	return m
}

// starting returns a module with a start function or an _initialize that runs code.
func starting(export string, parts ...any) wasmtest.Module {
	return with(plugin(), func(m *wasmtest.Module) {
		if export == "" {
			m.Start = []byte{m.Next()}
		}
		m.Funcs = append(m.Funcs, wasmtest.Func{Name: export, Type: wasmtest.Void, Code: code(code(parts...), end)})
	})
}

// wasi returns an import of a WASI function.
func wasi(name string, typ byte) wasmtest.Import {
	return wasmtest.Import{Module: "wasi_snapshot_preview1", Name: name, Type: typ}
}

// attack is a handmade module that is called once, and the expected result.
type attack struct {
	name     string
	module   wasmtest.Module
	lines    string // lines of its table in the config
	failure  string // code of the host failure; empty if the module answers
	wantText string // pattern of the answer's text
	hangs    bool   // runs until it is stopped
}

const oneSecond = `limits = { time = "1s" }`

func attacks() []attack {
	recursing := with(plugin(), func(m *wasmtest.Module) {
		m.Funcs[1].Code = code(callFunc, m.Next(), end)
		m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Code: code(callFunc, m.Next(), end)})
	})
	mutual := with(plugin(), func(m *wasmtest.Module) {
		first := m.Next()
		m.Funcs[1].Code = code(callFunc, first, end)
		m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Code: code(num(0), indirect, wasmtest.Void, 0, end)})
		m.Tables = [][]byte{{funcref, 0, 1}}
		m.Elements = [][]byte{code(0, num(0), end, 1, first)}
	})
	table := func(parts ...any) wasmtest.Module {
		return with(plugin(parts...), func(m *wasmtest.Module) { m.Tables = [][]byte{{funcref, 0, 1}} })
	}
	pages := func(m wasmtest.Module, min byte) wasmtest.Module {
		m.Memory = []byte{0, 0x80 | min&0x7f, min >> 7}
		return m
	}
	exiting := func(with ...byte) wasmtest.Module {
		return wasmtest.Plugin(code(0x41, with, callFunc, wasmtest.Extra), "", wasi("proc_exit", wasmtest.OfI32))
	}
	// waiting returns a module that waits for one event: 0 is a clock with the longest timeout, and 1 is stdin. The
	// subscription of 48 bytes is its data.
	waiting := func(subscription int) wasmtest.Module {
		data := strings.Repeat("\x00", 8) + string(rune(subscription)) + strings.Repeat("\x00", 15) + "\xff\xff\xff\xff\xff\xff\xff\x7f" + strings.Repeat("\x00", 16)
		m := wasmtest.Plugin(forever(invoke(wasmtest.Extra, 0, 100, 1, 200), drop), data, wasi("poll_oneoff", wasmtest.FourToI))
		return m
	}
	return []attack{
		{"an endless loop", plugin(forever()), oneSecond, "timeout", "ran past its time limit of 1s", true},
		{"a loop that uses up its fuel", plugin(forever()), `limits = { fuel = 1000000 }`, "fuel", "used up its fuel limit of 1000000 instructions", false},
		{"long straight code in a loop", plugin(forever(repeat(20_000, num(1), drop))), oneSecond, "timeout", "", true},
		{"memory copied over itself in a loop", pages(plugin(forever(num(0), num(1), num(15<<20), prefixFC, 10, 0, 0)), 250), oneSecond, "timeout", "", true},
		{"memory filled in a loop", pages(plugin(forever(num(0), num(1), num(15<<20), prefixFC, 11, 0)), 250), oneSecond, "timeout", "", true},
		{"a table grown in a loop", table(forever(refNull, funcref, num(1000), prefixFC, 15, 0, drop)), oneSecond, "timeout", "", true},
		{"memory grown in a loop", plugin(forever(num(1), memoryGrow, 0, drop)), oneSecond, "timeout", "", true},
		{"an endless start function", starting("", forever()), oneSecond, "timeout", "", true},
		{"an endless _initialize", starting("_initialize", forever()), oneSecond, "timeout", "", true},
		{"answers in a loop", plugin(forever(invoke(wasmtest.Output, 0, 65536))), oneSecond, "timeout", "", true},
		{"an endless sleep", waiting(0), oneSecond, "timeout", "", true},
		{"an endless wait for stdin", waiting(1), oneSecond, "timeout", "", true},
		{"endless random numbers", pages(wasmtest.Plugin(forever(invoke(wasmtest.Extra, 0, 250<<16), drop), "", wasi("random_get", wasmtest.TwoToI)), 250), oneSecond, "timeout", "", true},

		{"endless recursion", recursing, "", "stack_overflow", "crashed: stack overflow", false},
		{"endless indirect recursion", mutual, "", "stack_overflow", "", false},
		{"bulkhead_call that calls itself", wasmtest.Plugin(code(localGet, 0, callFunc, wasmtest.Extra+1), done), "", "stack_overflow", "", false},
		{"refused memory that the module needs", plugin(num(1025), memoryGrow, 0, num(-1), eq, ifThen, void, unreachable, end), "", "memory", "more memory than its limit of 64 MiB", false},
		{"refused memory that the module does not need", plugin(num(-1), memoryGrow, 0, drop), "", "", "^done$", false},
		{"initial memory above the limit", pages(plugin(), 250), `limits = { memory = "8MiB" }`, "memory", "its initial memory is 15 MiB, and its limit is 8 MiB", false},
		{"a table of millions of elements", with(plugin(), func(m *wasmtest.Module) { m.Tables = [][]byte{{funcref, 0, 0x80, 0x80, 0x80, 0x02}} }), "", "invalid_module", "elements of a table", false},

		{"endless host operations", wasmtest.Plugin(forever(invoke(wasmtest.HostCall, 0, 2), drop), "{}"), `limits = { operations = 50 }`, "too_many_operations", "more than its limit of 50", false},
		{"endless log lines", wasmtest.Plugin(forever(invoke(wasmtest.Log, 3, 0, 60_000)), ""), "", "log_too_large", "1048576", false},
		{"an answer over the limit", wasmtest.Plugin(invoke(wasmtest.Output, 0, 65536), ""), `limits = { output = "1KiB" }`, "output_too_large", "65536 bytes, and its limit is 1024", false},
		{"no answer", wasmtest.Plugin(nil, ""), "", "no_response", "", false},
		{"an answer that is not JSON", wasmtest.Plugin(invoke(wasmtest.Output, 0, 4), "\x1b[2J"), "", "invalid_response", "", false},
		{"an answer nested 5,000 deep", wasmtest.Plugin(invoke(wasmtest.Output, 0, 10_030), `{"result":{"content":[],"a":`+strings.Repeat("[", 5000)+strings.Repeat("]", 4996)+`]]]]}}`), "", "invalid_response", "nested more than 120 deep", false},
		{"an answer that is not a result", wasmtest.Plugin(invoke(wasmtest.Output, 0, 16), `{"result":[1,2]}`), "", "invalid_result", "", false},

		{"exit code 0", exiting(0), "", "exit", "exited with code 0$", false},
		{"exit code 255", exiting(0xff, 1), "", "exit", "exited with code 255$", false},
		{"a negative exit code", exiting(0x7f), "", "exit", "exited with code 4294967295$", false},
		{"a trap", wasmtest.Plugin([]byte{unreachable}, ""), "", "trap", "crashed: wasm error: unreachable", false},
		{"a trap in the start function", starting("", unreachable), "", "trap", "", false},
		{"a trap in _initialize", starting("_initialize", unreachable), "", "trap", "", false},
		{"an answer in _initialize", starting("_initialize", invoke(wasmtest.Output, 0, 2)), "", "abi_misuse", "output was called outside a request", false},
		{"a call in _initialize", starting("_initialize", num(0), callFunc, wasmtest.Extra+1, invoke(wasmtest.Input, 0, 0)), "", "abi_misuse", "", false},

		{"bulkhead_call that is an import of WASI", with(plugin(), func(m *wasmtest.Module) {
			m.Imports = append(m.Imports, wasi("proc_exit", wasmtest.OfI32))
			m.Funcs = m.Funcs[:1]
			m.Exports = [][]byte{code(wasmtest.Text("bulkhead_call"), 0, wasmtest.Extra)}
		}), "", "exit", "exited with code [0-9]+$", false},
		{"bulkhead_call that is a memory", with(plugin(), func(m *wasmtest.Module) {
			m.Funcs = m.Funcs[:1]
			m.Exports = [][]byte{code(wasmtest.Text("bulkhead_call"), 2, 0)}
		}), "", "invalid_module", "does not export the function bulkhead_call", false},
		{"_initialize with a wrong signature", with(plugin(), func(m *wasmtest.Module) {
			m.Funcs = append(m.Funcs, wasmtest.Func{Name: "_initialize", Type: wasmtest.FourToI, Code: code(num(0), end)})
		}), "", "invalid_module", "_initialize does not have the signature", false},

		{"a function with too many branches", with(plugin(), func(m *wasmtest.Module) {
			m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Locals: []byte{1, 0xd0, 0x0f, i32}, Code: code(repeat(10_000, block, void, num(1), brIf, 0, end), end)})
		}), "", "invalid_module", "control instructions of a function", false},
		{"a function with millions of locals", with(plugin(), func(m *wasmtest.Module) {
			m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Locals: []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, i32}, Code: []byte{end}})
		}), "", "invalid_module", "parameters and locals of a function", false},
		{"deeply nested blocks", with(plugin(), func(m *wasmtest.Module) {
			m.Funcs = append(m.Funcs, wasmtest.Func{Type: wasmtest.Void, Code: code(repeat(50_000, block, void), repeat(50_001, end))})
		}), "", "invalid_module", "nested blocks", false},
		{"an import with a reserved name", with(plugin(), func(m *wasmtest.Module) {
			m.Imports = append(m.Imports, wasmtest.Import{Module: "bulkhead:meter", Name: "yield", Type: wasmtest.Void})
		}), "", "invalid_module", "reserved", false},
		{"an access to the fuel counter", plugin(code(0x42, 0, globalSet, 0)), "", "invalid_module", "", false},
		{"instructions of the threads proposal", plugin(num(0), num(0), 0xfe, 0, 2, 0, drop), "", "invalid_module", "", false},
	}
}

// slug turns a name into a valid plugin name.
func slug(name string) string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(name), "-"), "-")
}

// TestHostileModulesAreContained runs all attacks at the same time and checks that other requests are served.
func TestHostileModulesAreContained(t *testing.T) {
	t.Parallel()
	all := attacks()
	w := newWorkspace(t)
	for _, a := range all {
		w.addModule(slug(a.name), a.module.Bytes(), a.lines)
	}
	s := w.serve()
	answers := make([]answer, len(all))
	var hanging, calls sync.WaitGroup
	for i, a := range all {
		reply := s.begin(slug(a.name), `{}`)
		if a.hangs {
			hanging.Add(1)
		}
		calls.Go(func() {
			answers[i] = <-reply
			if a.hangs {
				hanging.Done()
			}
		})
	}
	over := make(chan struct{})
	go func() { hanging.Wait(); close(over) }()
	s.checkOthersUntil(over)
	calls.Wait()
	for i, a := range all {
		t.Run(a.name, func(t *testing.T) {
			if got := answers[i]; got.Failure != a.failure || !regexp.MustCompile(a.wantText).MatchString(got.Text) {
				t.Errorf("got %+v, want failure %q with text %q", got, a.failure, a.wantText)
			}
		})
	}
	s.checkOthers()
	// Tables and native stacks do not count as linear memory. The table of a module once used gigabytes.
	if most := s.peakMemory(); most > 1<<30 {
		t.Errorf("peak memory of the host: %d MiB", most>>20)
	}
	s.end()
	for _, a := range all {
		outcome := "failed"
		if a.failure == "" {
			outcome = "ok"
		}
		got := w.calls(slug(a.name))
		if len(got) != 1 || got[0].Outcome != outcome || got[0].Code != a.failure || got[0].Tool != slug(a.name) {
			t.Errorf("%s: got audit records %+v", a.name, got)
		}
	}
}
