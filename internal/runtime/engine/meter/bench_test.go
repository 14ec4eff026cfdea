package meter_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

func BenchmarkRewrite(b *testing.B) {
	module := buildGuest(b, engineGuest)
	b.SetBytes(int64(len(module)))
	b.ReportAllocs()
	for b.Loop() {
		rewrite(b, module)
	}
	b.ReportMetric(float64(len(rewrite(b, module).Module))/float64(len(module)), "size-ratio")
}

// BenchmarkCost compares the times of original modules, of rewritten modules, and of modules with wazero's own cancellation. The
// three run in turn, so that other load on the machine affects them equally, and a low percentile of each is compared.
func BenchmarkCost(b *testing.B) {
	const hot = 1 << 14
	loop := one(tI32ToI32, []byte{1, 1, 0x7f}, code(0x03, 0x40,
		0x20, 1, 0x20, 0, 0x28, 2, 0, 0x6a, 0x21, 1, 0x20, 0, i32(4), 0x6b, 0x22, 0, 0x0d, 0, 0x0b, 0x20, 1, 0x0b))
	calls := wasmtest.Module{Types: someTypes, Funcs: []wasmtest.Func{function("f", tI32ToI32, nil, code( // f computes Fibonacci numbers recursively
		0x20, 0, i32(2), 0x48, 0x04, 0x40, 0x20, 0, 0x0f, 0x0b,
		0x20, 0, i32(1), 0x6b, 0x10, 0, 0x20, 0, i32(2), 0x6b, 0x10, 0, 0x6a, 0x0b))}}
	copies := one(tI32ToI32, nil, code(0x03, 0x40,
		i32(64), i32(9000), i32(100), 0xfc, 10, 0, 0, 0x20, 0, i32(1), 0x6b, 0x22, 0, 0x0d, 0, 0x0b, i32(0), 0x0b))
	f := func(arg uint64) func(*host, api.Module) {
		return func(_ *host, m api.Module) { m.ExportedFunction("f").Call(context.Background(), arg) }
	}
	echo := func(h *host, m api.Module) {
		for range 20 {
			h.ask(b, m.ExportedFunction("bulkhead_call"), echoRequest)
		}
	}
	for _, c := range []struct {
		name   string
		module []byte
		run    func(*host, api.Module)
	}{
		{"echo", buildGuest(b, echoGuest), echo},
		{"tight loop", loop.Bytes(), f(hot)},
		{"calls", calls.Bytes(), f(18)},
		{"small copies", copies.Bytes(), f(hot)},
	} {
		b.Run(c.name, func(b *testing.B) { compare(b, c.module, c.run) })
	}
}

func compare(b *testing.B, module []byte, run func(*host, api.Module)) {
	type side struct {
		h     *host
		m     api.Module
		times []float64
	}
	var sides []*side
	for _, v := range []struct {
		module []byte
		config wazero.RuntimeConfig
	}{
		{module, wazero.NewRuntimeConfig()},
		{rewrite(b, module).Module, wazero.NewRuntimeConfig()},
		{module, wazero.NewRuntimeConfig().WithCloseOnContextDone(true)},
	} {
		h := newHost(b, v.config)
		s := &side{h: h, m: h.start(b, v.module)}
		for range 50 {
			run(s.h, s.m)
		}
		sides = append(sides, s)
	}
	for b.Loop() {
		for _, s := range sides {
			from := time.Now()
			run(s.h, s.m)
			s.times = append(s.times, float64(time.Since(from)))
		}
	}
	low := func(s *side) float64 {
		slices.Sort(s.times)
		return s.times[len(s.times)/10]
	}
	b.ReportMetric(low(sides[1])/low(sides[0]), "x-plain")
	b.ReportMetric(low(sides[1])/low(sides[2]), "x-close-on-done")
}

// BenchmarkYield measures a call of the host that does nothing but refill the fuel.
func BenchmarkYield(b *testing.B) {
	h := one(tVoid, nil, code(0x03, 0x40, 0x0c, 0, 0x0b, 0x0b))
	left := b.N
	r := run(b, h.Bytes(), meter.DefaultConfig(), func(fuel api.MutableGlobal) {
		if left--; left < 0 {
			panic(errStop)
		}
		fuel.Set(0)
	})
	b.ResetTimer()
	r.call("f")
}
