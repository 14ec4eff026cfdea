package meter_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// buildGuest builds a Go guest.
func buildGuest(tb testing.TB, pkg string) []byte {
	tb.Helper()
	module, err := os.ReadFile(testcache.Must(testcache.Module(pkg)))
	if err != nil {
		tb.Fatal(err)
	}
	return module
}

const (
	echoGuest   = "../../../../tests/bench/testdata/echo"
	engineGuest = "../testdata/guest"
)

// host provides the imports of ABI 1 and those that Rewrite adds.
type host struct {
	runtime  wazero.Runtime
	request  []byte
	response []byte
	quantum  int64
	yields   int
}

func newHost(tb testing.TB, config wazero.RuntimeConfig) *host {
	tb.Helper()
	ctx := context.Background()
	h := &host{runtime: wazero.NewRuntimeWithConfig(ctx, config.WithMemoryLimitPages(1024)), quantum: meter.Quantum}
	tb.Cleanup(func() {
		if err := h.runtime.Close(ctx); err != nil {
			tb.Error(err)
		}
	})
	wasi_snapshot_preview1.MustInstantiate(ctx, h.runtime)
	i32 := api.ValueTypeI32
	bulkhead := h.runtime.NewHostModuleBuilder("bulkhead")
	for name, f := range map[string]api.GoModuleFunc{
		"input":       func(_ context.Context, m api.Module, s []uint64) { m.Memory().Write(uint32(s[0]), h.request) },
		"host_result": func(_ context.Context, m api.Module, s []uint64) {},
		"output": func(_ context.Context, m api.Module, s []uint64) {
			out, _ := m.Memory().Read(uint32(s[0]), uint32(s[1]))
			h.response = append(h.response[:0], out...)
		},
	} {
		bulkhead.NewFunctionBuilder().WithGoModuleFunction(f, []api.ValueType{i32, i32}, nil).Export(name)
	}
	bulkhead.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, s []uint64) { s[0] = 0 }), []api.ValueType{i32, i32}, []api.ValueType{i32}).Export("host_call")
	bulkhead.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, s []uint64) {}), []api.ValueType{i32, i32, i32}, nil).Export("log")
	if _, err := bulkhead.Instantiate(ctx); err != nil {
		tb.Fatal(err)
	}
	instantiateYield(tb, h.runtime, func(fuel api.MutableGlobal) {
		h.yields++
		fuel.Set(fuel.Get() + uint64(h.quantum))
	})
	return h
}

// start instantiates a guest.
func (h *host) start(tb testing.TB, module []byte) api.Module {
	tb.Helper()
	m, err := h.runtime.InstantiateWithConfig(context.Background(), module, wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize").WithSysNanotime().WithSysWalltime().WithStderr(os.Stderr))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// ask sends a request and returns the response.
func (h *host) ask(tb testing.TB, f api.Function, request []byte) string {
	h.request = request
	stack := [1]uint64{uint64(len(request))}
	if err := f.CallWithStack(context.Background(), stack[:]); err != nil {
		tb.Fatal(err)
	}
	return string(h.response)
}

func rewrite(tb testing.TB, module []byte) meter.Result {
	tb.Helper()
	r, err := meter.Rewrite(module, meter.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

var echoRequest = []byte(`{"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello, hello"}}}`)

func TestRewrittenGoGuestBehavesIdentically(t *testing.T) {
	testenv.NotShort(t, "compiles modules of Go programs")
	for _, pkg := range []string{echoGuest, engineGuest} {
		module := buildGuest(t, pkg)
		var answers [2]string
		for i, m := range [][]byte{module, rewrite(t, module).Module} {
			h := newHost(t, wazero.NewRuntimeConfig())
			instance := h.start(t, m)
			answers[i] = h.ask(t, instance.ExportedFunction("bulkhead_call"), echoRequest)
			if metered := i == 1; metered != (h.yields > 0) {
				t.Errorf("%s: %d yields, metered: %v", pkg, h.yields, metered)
			}
		}
		if answers[0] != answers[1] || !strings.Contains(answers[1], "hello, hello") {
			t.Errorf("%s: answers\n%s\nand rewritten\n%s", pkg, answers[0], answers[1])
		}
	}
}

// instantiateYield provides the function that rewritten modules import.
func instantiateYield(tb testing.TB, r wazero.Runtime, yield func(fuel api.MutableGlobal)) {
	tb.Helper()
	f := func(_ context.Context, m api.Module, _ []uint64) {
		yield(m.ExportedGlobal(meter.ExportFuel).(api.MutableGlobal))
	}
	_, err := r.NewHostModuleBuilder(meter.ImportModule).
		NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(f), nil, nil).Export(meter.ImportYield).
		Instantiate(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
}
