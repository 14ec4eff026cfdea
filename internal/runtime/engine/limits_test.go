package engine

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

func TestExceededLimitIsNamed(t *testing.T) {
	echo := func(context.Context, []byte) []byte { return []byte(`{"result":1}`) }
	spend := func(ctx context.Context, _ []byte) []byte {
		Spend(ctx, 100_000_000*bytesPerFuel)
		return []byte(`{"result":1}`)
	}
	tests := []struct {
		name, tool, arguments string
		spec                  Spec
		code                  Code
		message               string
	}{
		{"fuel", "spin", `{}`, Spec{Fuel: 50_000_000}, CodeFuel, "used up its fuel limit of 50000000 instructions"},
		{"memory", "grow", `{}`, Spec{Memory: 24 << 20}, CodeMemory, "crashed: it needed more memory than its limit of 24 MiB"},
		{"the size of a request", "echo", `{"text":"` + string(bytes.Repeat([]byte("x"), 1000)) + `"}`, Spec{Input: 1000}, CodeInputSize, "was sent 1039 bytes, and its limit is 1000: raise limits.input"},
		{"the size of a response", "big", `{}`, Spec{Output: 1000}, CodeOutputSize, "returned a response of 1048626 bytes, and its limit is 1000"},
		{"host operations", "ask", `{}`, Spec{Operations: 10, Operate: echo}, CodeOperations, "performed more than its limit of 10 host operations"},
		{"fuel in a host operation", "ask", `{}`, Spec{Fuel: 50_000_000, Operate: spend}, CodeFuel, "used up its fuel limit of 50000000 instructions"},
		{"log output", "flood", `{}`, Spec{LogSize: 10_000}, CodeLogSize, "logged more than its limit of 10000 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newModule(t, test.spec)
			_, err := callTool(t.Context(), m, test.tool, test.arguments)
			if failure := wantCode(t, err, test.code); failure.Message != test.message {
				t.Errorf("got %q, want %q", failure.Message, test.message)
			}
			if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

func TestTimeLimitEndsLoop(t *testing.T) {
	compiled(t, guest())
	synctest.Test(t, func(t *testing.T) {
		m := newModule(t, Spec{Time: time.Minute})
		request := toolRequest("spin", `{}`)
		request.Busy = func() { time.Sleep(time.Hour) } // without it, the loop would take no time on the fake clock
		_, err := m.Call(t.Context(), request)
		if failure := wantCode(t, err, CodeTimeout); failure.Message != "ran past its time limit of 1m0s" {
			t.Errorf("got the message %q", failure.Message)
		}
		if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
			t.Errorf("the next call: %v", err)
		}
	})
}

// A single WASI call can make the host do much work. Each part of this work must be charged to the call, and must check the
// call's context.
func TestHostWorkIsChargedAndCancelled(t *testing.T) {
	const all = 16 << 20
	wasi := func(name string, typ byte) wasmtest.Import {
		return wasmtest.Import{Module: "wasi_snapshot_preview1", Name: name, Type: typ}
	}
	long := func(code []byte, data string, more wasmtest.Import) []byte {
		m := wasmtest.Plugin(wasmtest.Code(code, 0x1a, wasmtest.Invoke(wasmtest.Output, 0, 2)), data, more)
		m.Memory = []byte{0, 0x80, 2} // 256 pages
		return m.Bytes()
	}
	for name, test := range map[string]struct {
		module []byte
		fuel   int64 // minimum that the call must use
	}{
		"random numbers": {long(wasmtest.Invoke(wasmtest.Extra, 0, all), "", wasi("random_get", wasmtest.TwoToI)), all / bytesPerFuel},
		"empty writes":   {long(wasmtest.Invoke(wasmtest.Extra, 2, 64, all/8-8, 8), "", wasi("fd_write", wasmtest.FourToI)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := loadBytes(t, test.module, Spec{})
			inst, failure := m.newInstance(t.Context())
			if failure != nil {
				t.Fatal(failure)
			}
			if response, failure := inst.call(t.Context(), Prepared{Request: new(call.Request)}); failure != nil || response.Fuel < test.fuel {
				t.Errorf("used %d units of fuel, want at least %d: %v", response.Fuel, test.fuel, failure)
			}
			inst.current = newExecution(canceled(t), m, inst)
			defer func() {
				if ended, ok := recover().(*Error); !ok || ended.Code != CodeCanceled {
					t.Errorf("the call ended with %v, want a cancellation", ended)
				}
				inst.close()
			}()
			if name == "random numbers" {
				_, _ = randomSource{inst}.Read(make([]byte, 1))
			} else {
				_, _ = inst.stderr.Write(nil)
			}
		})
	}
}

// A number that a module passes to WASI must not make the host allocate or loop in proportion to it, since neither is charged.
func TestArgumentsOfWASIAllocateLittle(t *testing.T) {
	const size, drop, file = 8 << 20, 0x1a, 4
	types := slices.Clone(wasmtest.Plugin(nil, "").Types)
	wasi := func(name, params string) wasmtest.Import {
		f := wasm.FuncType{Results: []byte{byte(wasm.I32)}}
		for _, p := range params {
			f.Params = append(f.Params, map[rune]byte{'i': byte(wasm.I32), 'l': byte(wasm.I64)}[p])
		}
		types = append(types, f)
		return wasmtest.Import{Module: "wasi_snapshot_preview1", Name: name, Type: byte(len(types) - 1)}
	}
	one := func(args ...int32) []byte { return wasmtest.Invoke(wasmtest.Extra+1, args...) }
	open := wasi("path_open", "iiiiillii")
	opens := func(length int32) []byte { // path_open of "/" by a path at 0
		long := []byte{0x42, 0}
		return wasmtest.Code(wasmtest.I32(3), wasmtest.I32(0), wasmtest.I32(0), wasmtest.I32(length), wasmtest.I32(2), long, long, wasmtest.I32(0), wasmtest.I32(64), 0x10, wasmtest.Extra)
	}
	for name, c := range map[string]struct {
		function wasmtest.Import
		code     []byte
	}{
		"a descriptor":                {wasi("fd_renumber", "ii"), wasmtest.Code(opens(1), drop, one(file, size))},
		"subscriptions":               {wasi("poll_oneoff", "iiii"), one(0, size, size/48, 2*size-8)},
		"subscriptions that overflow": {wasi("poll_oneoff", "iiii"), one(0, size, 1<<28, 2*size-8)},
		"a path to open":              {wasi("fd_close", "i"), opens(size)},
		"a path to remove":            {wasi("path_unlink_file", "iii"), one(3, 0, size)},
		"a directory to remove":       {wasi("path_remove_directory", "iii"), one(3, 0, size)},
		"a directory to create":       {wasi("path_create_directory", "iii"), one(3, 0, size)},
		"a path to describe":          {wasi("path_filestat_get", "iiiii"), one(3, 0, 0, size, 2*size-64)},
		"a link to read":              {wasi("path_readlink", "iiiiii"), one(3, 0, size, size, 8, 2*size-8)},
		"a path to rename":            {wasi("path_rename", "iiiiii"), one(3, 0, size, 3, 0, 1)},
		"a new name":                  {wasi("path_rename", "iiiiii"), one(3, 0, 1, 3, 0, size)},
		"a path to link":              {wasi("path_link", "iiiiiii"), one(3, 0, 0, size, 3, 0, 1)},
		"a name of a link":            {wasi("path_link", "iiiiiii"), one(3, 0, 0, 1, 3, 0, size)},
		"a name of a symbolic link":   {wasi("path_symlink", "iiiii"), one(0, 1, 3, 0, size)},
	} {
		t.Run(name, func(t *testing.T) {
			m := wasmtest.Plugin(wasmtest.Code(c.code, drop, wasmtest.Invoke(wasmtest.Output, 0, 2)), ".", open, c.function)
			m.Types, m.Memory = types, []byte{0, 0x80, 2} // 256 pages
			loaded := loadBytes(t, m.Bytes(), Spec{FS: mountDir(t, t.TempDir())})
			inst, failure := loaded.newInstance(t.Context())
			if failure != nil {
				t.Fatal(failure)
			}
			defer inst.close()
			var err *Error
			if allocated := testenv.AllocatedBy(func() { _, err = inst.call(t.Context(), Prepared{Request: new(call.Request)}) }); err != nil || allocated > 1<<20 {
				t.Errorf("%d bytes were allocated for an argument of %d: %v", allocated, size, err)
			}
		})
	}
}

// The fuel limit, not the limit of operations, bounds operations that have data bytes after their JSON.
func TestOperationsWithBytesAreChargedInsteadOfCounted(t *testing.T) {
	const drop, limit = 0x1a, 3
	run := func(calls int, request string) (fuel int64, answered int, err error) {
		code := wasmtest.Repeat(calls, wasmtest.Invoke(wasmtest.HostCall, 0, int32(len(request))), drop)
		m := loadBytes(t, wasmtest.Plugin(wasmtest.Code(code, wasmtest.Invoke(wasmtest.Output, 0, 2)), request).Bytes(), Spec{
			Operations: limit,
			Operate: func(_ context.Context, got []byte) []byte {
				if string(got) != request {
					t.Errorf("got the request %q, want %q", got, request)
				}
				answered++
				return []byte("{}")
			},
		})
		response, err := m.Call(t.Context(), Prepared{Request: &call.Request{Method: "m"}})
		defer response.Release()
		return response.Fuel, answered, err
	}
	const request = `{"op":"x"}`
	data := string(bytes.Repeat([]byte("y"), 10_000))
	if fuel, answered, err := run(limit+1, request+"\x00"+data); err != nil || answered != limit+1 || fuel < int64((limit+1)*len(data)) {
		t.Errorf("got %d answers for %d units of fuel, %v", answered, fuel, err)
	}
	if fuel, _, err := run(1, request+"\x00"); err != nil || fuel < 1000 {
		t.Errorf("a request with a separator and no data bytes: %d units of fuel, %v", fuel, err)
	}
	for name, request := range map[string]string{
		"a request without data bytes":        request,
		"a long request":                      request + data,
		"a NUL byte after abi.MaxBeforeBytes": request + data + "\x00",
	} {
		if _, _, err := run(limit+1, request); err == nil {
			t.Errorf("%s does not count towards Spec.Operations", name)
		} else {
			wantCode(t, err, CodeOperations)
		}
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestFuelIsDeterministic(t *testing.T) {
	m := newModule(t, Spec{})
	fuel := func(arguments string) int64 {
		response, err := m.Call(t.Context(), Prepared{Request: &call.Request{Method: "tools/call", Params: []byte(`{"name":"count","arguments":` + arguments + `}`)}})
		if err != nil {
			t.Fatal(err)
		}
		defer response.Release()
		return response.Fuel
	}
	fuel(`{"to":1}`)
	few, many := fuel(`{"to":1000}`), fuel(`{"to":2000}`)
	if again := fuel(`{"to":1000}`); again != few {
		t.Errorf("used %d units of fuel, and then %d", few, again)
	}
	if many-few < 1000 {
		t.Errorf("1000 more iterations used %d more units of fuel", many-few)
	}
}

func TestCancellationEndsLoop(t *testing.T) {
	m := newModule(t, Spec{})
	if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	request := toolRequest("spin", `{}`)
	request.Busy = cancel
	_, err := m.Call(ctx, request)
	wantCode(t, err, CodeCanceled)
}

// A worker reads cancellations only after the call has called Busy, so the host must call Busy during a long WASI call.
func TestCancellationEndsWASICall(t *testing.T) {
	const all = 16 << 20
	m := wasmtest.Plugin(wasmtest.Code(wasmtest.Invoke(wasmtest.Extra, 0, all), 0x1a, wasmtest.Invoke(wasmtest.Output, 0, 2)), "",
		wasmtest.Import{Module: "wasi_snapshot_preview1", Name: "random_get", Type: wasmtest.TwoToI})
	m.Memory = []byte{0, 0x80, 2} // 256 pages
	ctx, cancel := context.WithCancel(t.Context())
	response, err := loadBytes(t, m.Bytes(), Spec{}).Call(ctx, Prepared{Request: new(call.Request), Busy: cancel})
	wantCode(t, err, CodeCanceled)
	if response.Fuel >= all/bytesPerFuel {
		t.Errorf("used %d units of fuel: the WASI call did not end early", response.Fuel)
	}
}

func TestCallsDoNotShareState(t *testing.T) {
	for name, reused := range map[string]bool{"pristine calls": false, "reused instances": true} {
		t.Run(name, func(t *testing.T) {
			m := newModule(t, Spec{Reused: reused})
			var found []string
			for range 4 {
				got, err := callTool(t.Context(), m, "remember", `{"text":"secret"}`)
				if err != nil {
					t.Fatal(err)
				}
				found = append(found, got)
			}
			if kept := found[3] != found[0]; kept != reused {
				t.Errorf("the calls found %q", found)
			}
		})
	}
}

func TestRestoreErasesMemoryOfCall(t *testing.T) {
	m := newModule(t, Spec{})
	inst, failure := m.newInstance(t.Context())
	if failure != nil {
		t.Fatal(failure)
	}
	defer inst.close()
	if _, failure := inst.call(t.Context(), Prepared{Request: &call.Request{Method: "tools/call", Params: []byte(`{"name":"remember","arguments":{"text":"secret"}}`)}}); failure != nil {
		t.Fatal(failure)
	}
	grown := inst.memory.size
	if grown <= uint64(len(m.snapshot.memory)) || !bytes.Contains(inst.memory.space, []byte("secretsecret")) {
		t.Fatalf("the call left no dirty memory: %d bytes of memory", grown)
	}
	if !inst.restore(m.snapshot, func() {}) {
		t.Fatal("the instance cannot be restored")
	}
	if !bytes.Equal(inst.memory.space[:len(m.snapshot.memory)], m.snapshot.memory) {
		t.Error("memory differs from the snapshot")
	}
	if !inst.memory.setAccessible(inst.memory.limit) { // inspect the inaccessible part, too
		t.Fatal("the system refuses memory")
	}
	if left := bytes.Trim(inst.memory.space[len(m.snapshot.memory):], "\x00"); len(left) > 0 {
		t.Errorf("%d bytes are left above the snapshot", len(left))
	}
	if got := inst.module.Memory().Size(); uint64(got) != uint64(len(m.snapshot.memory)) {
		t.Errorf("memory has %d bytes, and the snapshot %d", got, len(m.snapshot.memory))
	}
}

func TestIdleInstancesAreClosed(t *testing.T) {
	for name, reused := range map[string]bool{"pristine calls": false, "reused instances": true} {
		t.Run(name, func(t *testing.T) {
			compiled(t, guest())
			synctest.Test(t, func(t *testing.T) {
				m := newModule(t, Spec{Reused: reused, Idle: time.Minute})
				for range 2 { // the second time, with a new instance
					if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
						t.Fatal(err)
					}
					time.Sleep(m.spec.Idle - time.Nanosecond)
					if !m.holdsInstance() {
						t.Error("the instance is closed before it was idle for long enough")
					}
					time.Sleep(time.Nanosecond)
					if synctest.Wait(); m.holdsInstance() {
						t.Error("the idle instance is not closed")
					}
				}
			})
		})
	}
}

// holdsInstance reports whether the module has an idle instance.
func (m *Module) holdsInstance() bool {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return len(m.pool.ready) > 0
}
