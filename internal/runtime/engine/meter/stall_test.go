//go:build unix

package meter_test

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/tetratelabs/wazero/api"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// stalls returns modules with large memories. Each has a function f that runs long, and does as much work as possible for its fuel. Page
// faults of the first access do not count, because the engine populates the memory.
func stalls() map[string]wasmtest.Module {
	large := func(m wasmtest.Module) wasmtest.Module {
		m.Memory = []byte{0, 0x80, 0x20} // at least 4,096 pages, which are 256 MiB
		return m
	}
	forever := func(parts ...any) []byte { return code(0x03, 0x40, code(parts...), 0x0c, 0, 0x0b) }
	chase := repeat(2000, 0x28, 2, 0)
	table := one(tVoid, nil, code(forever(i32(0), 0xd0, 0x70, i32(meter.DefaultTableMax), 0xfc, 17, 0), 0x0b))
	table.Tables = [][]byte{{0x70, 0, 0x80, 0x80, 0x10}}
	denormal := code(0x44, 1, 0, 0, 0, 0, 0, 0, 0)
	half := code(0x44, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f)
	// f calls the second function, which recurses n times and follows pointers while it returns.
	deep := wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{
		function("f", tVoid, nil, code(forever(i32(20_000), 0x10, 1, 0x1a), 0x0b)),
		function("", tI32ToI32, nil, code(0x20, 0, 0x04, 0x40, 0x20, 0, i32(1), 0x6b, 0x10, 1, 0x1a, 0x0b, 0x20, 0, i32(16), 0x6c, repeat(58, 0x28, 2, 0), 0x0b)),
	}}
	return map[string]wasmtest.Module{
		"simple instructions":    one(tVoid, nil, code(forever(repeat(2000, i32(1), 0x1a)), 0x0b)),
		"pointers followed":      large(one(tVoid, []byte{1, 1, 0x7f}, code(forever(0x20, 0, chase, 0x21, 0), 0x0b))),
		"divisions":              one(tVoid, []byte{1, 1, 0x7e}, code(0x42, 0x7b, 0x21, 0, forever(0x20, 0, repeat(1000, 0x42, 0x7f, 0x7f), 0x1a), 0x0b)),
		"tiny floats":            one(tVoid, nil, code(forever(denormal, repeat(1000, half, 0xa2), 0x1a), 0x0b)),
		"memory.copy":            large(one(tVoid, nil, code(forever(i32(0), i32(1), i32(200<<20), 0xfc, 10, 0, 0), 0x0b))),
		"memory.fill":            large(one(tVoid, nil, code(forever(i32(0), i32(1), i32(200<<20), 0xfc, 11, 0), 0x0b))),
		"many small memory.copy": large(one(tVoid, nil, code(forever(repeat(500, i32(1<<20), i32(150<<20), i32(4096), 0xfc, 10, 0, 0)), 0x0b))),
		"table.fill":             table,
		"frames that return":     large(deep),
	}
}

// BenchmarkStalls measures the longest processor time between two calls of the host, in milliseconds. The target is at most 5 ms.
func BenchmarkStalls(b *testing.B) {
	for name, h := range stalls() {
		b.Run(name, func(b *testing.B) {
			least := time.Hour // the least of several runs counts, since other load on the machine only adds time
			for b.Loop() {
				least = min(least, longestStall(b, h.Bytes()))
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "ms-stalled")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// longestStall runs a module for some time. It returns the longest processor time between two calls of the host.
func longestStall(b *testing.B, module []byte) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var longest, spent, last time.Duration
	r := run(b, module, meter.DefaultConfig(), func(fuel api.MutableGlobal) {
		stalled := processorTime(b) - last
		longest, spent = max(longest, stalled), spent+stalled
		if spent > 300*time.Millisecond {
			panic(errStop)
		}
		fuel.Set(meter.Quantum)
		last = processorTime(b)
	})
	if m := r.Memory(); m != nil {
		scatter(m) // also makes the memory resident, as the engine does
	}
	r.fuel().Set(meter.Quantum)
	longest, spent, last = 0, 0, processorTime(b)
	if _, err := r.call("f"); !errors.Is(err, errStop) && spent < 10*time.Millisecond {
		b.Fatalf("it ended after %s: %v", spent, err)
	}
	return longest
}

// processorTime returns the processor time of the current thread.
func processorTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

// scatter sets each word of the memory to the address of a different word that is far away.
func scatter(m api.Memory) {
	all, _ := m.Read(0, m.Size())
	const line = 64
	n := len(all) / line
	next := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for i := range n {
		for w := 0; w < line; w += 4 {
			binary.LittleEndian.PutUint32(all[next[i]*line+w:], uint32(next[(i+1)%n]*line))
		}
	}
}
