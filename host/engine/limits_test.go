package engine

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
)

func TestEveryLimitEndsACallByItsName(t *testing.T) {
	echo := func(context.Context, []byte) []byte { return []byte(`{"result":1}`) }
	tests := []struct {
		name, tool, arguments string
		spec                  Spec
		code                  Code
		says                  string
	}{
		{"time, of a loop that asks nothing", "spin", `{}`, Spec{Time: 100 * time.Millisecond}, CodeTimeout, "ran past its time limit of 100ms"},
		{"fuel", "spin", `{}`, Spec{Fuel: 50_000_000}, CodeFuel, "used up its fuel limit of 50000000 instructions"},
		{"memory", "grow", `{}`, Spec{Memory: 24 << 20}, CodeMemory, "crashed, having needed more memory than its limit of 24 MiB"},
		{"the size of a request", "echo", `{"text":"` + string(bytes.Repeat([]byte("x"), 1000)) + `"}`, Spec{Input: 1000}, CodeInputSize, "was sent 1039 bytes, and its limit is 1000"},
		{"the size of an answer", "big", `{}`, Spec{Output: 1000}, CodeOutputSize, "gave an answer of 1048626 bytes, and its limit is 1000"},
		{"host operations", "ask", `{}`, Spec{Operations: 10, Operate: echo}, CodeOperations, "asked for more than its limit of 10 host operations"},
		{"what is logged", "flood", `{}`, Spec{LogSize: 10_000}, CodeLogSize, "logged more than its limit of 10000 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := newModule(t, test.spec)
			_, err := callTool(t.Context(), m, test.tool, test.arguments)
			if failure := wantCode(t, err, test.code); failure.Message != test.says {
				t.Errorf("got %q, want %q", failure.Message, test.says)
			}
			if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
}

// TestTheHostsOwnWorkIsStopped: one call of WASI's can have the host do much, and each piece of it heeds the
// time and is paid for.
func TestTheHostsOwnWorkIsStopped(t *testing.T) {
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
		fuel   int64 // that it takes at least
	}{
		"random numbers": {long(wasmtest.Invoke(wasmtest.Extra, 0, all), "", wasi("random_get", wasmtest.TwoToI)), all / bytesPerFuel},
		"empty writes":   {long(wasmtest.Invoke(wasmtest.Extra, 2, 64, all/8-8, 8), "", wasi("fd_write", wasmtest.FourToI)), 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := handmade(t, test.module, Spec{})
			inst, failure := m.fresh(t.Context())
			if failure != nil {
				t.Fatal(failure)
			}
			if response, failure := inst.call(t.Context(), Request{}); failure != nil || response.Fuel < test.fuel {
				t.Errorf("took %d instructions' worth, want at least %d: %v", response.Fuel, test.fuel, failure)
			}
			inst.current = newCall(canceled(t), m, inst)
			defer func() {
				if ended, ok := recover().(*Error); !ok || ended.Code != CodeCanceled {
					t.Errorf("ended with %v", ended)
				}
				inst.close()
			}()
			if name == "random numbers" {
				_, _ = random{inst}.Read(make([]byte, 1))
			} else {
				_, _ = inst.said.Write(nil)
			}
		})
	}
}

func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestTheSameInputTakesTheSameFuel(t *testing.T) {
	m := newModule(t, Spec{})
	fuel := func(arguments string) int64 {
		response, err := m.Call(t.Context(), Request{Method: "tools/call", Params: []byte(`{"name":"count","arguments":` + arguments + `}`)})
		if err != nil {
			t.Fatal(err)
		}
		return response.Fuel
	}
	fuel(`{"to":1}`)
	few, many := fuel(`{"to":1000}`), fuel(`{"to":2000}`)
	if again := fuel(`{"to":1000}`); again != few {
		t.Errorf("took %d instructions, and then %d", few, again)
	}
	if many-few < 1000 {
		t.Errorf("1000 rounds more took %d instructions more", many-few)
	}
}

func TestACancelledLoopEndsSoon(t *testing.T) {
	m := newModule(t, Spec{})
	if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, stop)
	_, err := callTool(ctx, m, "spin", `{}`)
	wantCode(t, err, CodeCanceled)
}

func TestNoCallFindsWhatAnEarlierOneLeft(t *testing.T) {
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

func TestAfterACallTheMemoryHoldsNothingOfIt(t *testing.T) {
	m := newModule(t, Spec{})
	inst, failure := m.fresh(t.Context())
	if failure != nil {
		t.Fatal(failure)
	}
	defer inst.close()
	if _, failure := inst.call(t.Context(), Request{Method: "tools/call", Params: []byte(`{"name":"remember","arguments":{"text":"secret"}}`)}); failure != nil {
		t.Fatal(failure)
	}
	grown := inst.memory.size
	if grown <= uint64(len(m.image.memory)) || !bytes.Contains(inst.memory.space, []byte("secretsecret")) {
		t.Fatalf("the call left nothing to put back: %d bytes of memory", grown)
	}
	if !inst.restore(m.image) {
		t.Fatal("the instance cannot be put back")
	}
	if !bytes.Equal(inst.memory.space[:len(m.image.memory)], m.image.memory) {
		t.Error("memory differs from the image")
	}
	if !inst.memory.open(inst.memory.limit) { // what the module cannot reach is looked at, too
		t.Fatal("no memory")
	}
	if left := bytes.Trim(inst.memory.space[len(m.image.memory):], "\x00"); len(left) > 0 {
		t.Errorf("%d bytes are left above the image", len(left))
	}
	if got := inst.module.Memory().Size(); uint64(got) != uint64(len(m.image.memory)) {
		t.Errorf("memory has %d bytes, and the image %d", got, len(m.image.memory))
	}
}

func TestIdleInstancesAreReleased(t *testing.T) {
	for name, reused := range map[string]bool{"pristine calls": false, "reused instances": true} {
		t.Run(name, func(t *testing.T) {
			m := newModule(t, Spec{Reused: reused, Idle: 20 * time.Millisecond})
			for range 2 { // also after they were released
				if _, err := callTool(t.Context(), m, "echo", `{}`); err != nil {
					t.Fatal(err)
				}
				for deadline := time.Now().Add(10 * time.Second); m.holdsInstance(); time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatal("the instance stays in memory")
					}
				}
			}
		})
	}
}

// holdsInstance tells whether the module has an instance that no call uses.
func (m *Module) holdsInstance() bool {
	m.pool.mu.Lock()
	defer m.pool.mu.Unlock()
	return len(m.pool.clean)+m.pool.cleaning > 0
}
