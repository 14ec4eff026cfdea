//go:build unix

package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Derive functions of testdata/guest/derive.go.
const (
	deriveSum = iota
	deriveObserve
	derivePanic
	deriveSpin
	deriveNothing
	deriveLarge
	deriveExit
	deriveSleep
	deriveMemoryHog
	deriveWork
)

func derived(t testing.TB, m *Module, function uint32, content string) string {
	t.Helper()
	data, err := m.Derive(t.Context(), function, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// A result depends only on the content, not on the environment, nor on what ran before or in which order. To check that, the
// module reads clocks, random numbers, variables, arguments, files, descriptors, operations, and all state that an earlier
// run could leave.
func TestDerivationIsFunctionOfContent(t *testing.T) {
	contents := []string{"", "a", "bb", strings.Repeat("c", 5), strings.Repeat("long ", 100_000)}
	want := map[string]string{}
	check := func(t *testing.T, m *Module, content string) {
		t.Helper()
		got := derived(t, m, deriveObserve, content)
		if first, ok := want[content]; !ok {
			want[content] = got
		} else if got != first {
			at := 0
			for at < min(len(got), len(first)) && got[at] == first[at] {
				at++
			}
			from := max(0, at-60)
			t.Fatalf("content of %d bytes: the result differs:\n%s\n%s", len(content), got[from:min(len(got), at+60)], first[from:min(len(first), at+60)])
		}
	}
	echo := func(_ context.Context, request []byte) []byte { return []byte(`{"result":"secret"}`) }
	for name, spec := range map[string]Spec{
		"fresh":  {},
		"reused": {Reused: true},
		"other environment": {
			Env: map[string]string{"PWD": "/", "TZ": "Asia/Tokyo"}, Memory: 256 << 20, Operate: echo, Operations: 3, LogSize: 1 << 10, Output: 10 << 10,
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newModule(t, spec)
			for _, content := range contents {
				check(t, m, content)
			}
		})
	}
	t.Run("compared memory", func(t *testing.T) {
		m := newModule(t, Spec{})
		m.deriver.module.spec.Tracker = nil
		for _, content := range contents {
			check(t, m, content)
		}
	})
	t.Run("history", func(t *testing.T) {
		m := newModule(t, Spec{})
		random := rand.New(rand.NewPCG(1, 2))
		for range testenv.Count(20, 60, 60) {
			switch random.IntN(6) {
			case 0:
				function := []uint32{derivePanic, deriveNothing, deriveLarge, deriveExit, deriveMemoryHog, 77}[random.IntN(6)]
				if _, err := m.Derive(t.Context(), function, []byte("x")); !errors.Is(err, ErrDerivation) {
					t.Fatalf("function %d: %v", function, err)
				}
			case 1:
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				_, err := m.Derive(ctx, deriveSpin, nil)
				cancel()
				wantCode(t, err, CodeTimeout)
			case 2:
				if _, err := callTool(t.Context(), m, "remember", `{"text":"secret"}`); err != nil {
					t.Fatal(err)
				}
			case 3:
				m.deriver.module.closeIdle()
			}
			check(t, m, contents[random.IntN(len(contents))])
		}
	})
	if seen := want["a"]; strings.Contains(seen, "secret") || !strings.Contains(seen, abi.HostDenied) {
		t.Errorf("the function saw what it must not, or no denied operation: %s", seen)
	}
}

func TestDeriveFunctionThatFails(t *testing.T) {
	m := newModule(t, Spec{})
	for function, code := range map[uint32]Code{
		derivePanic: CodeTrap, deriveNothing: CodeNoResponse, deriveLarge: CodeOutputSize, deriveExit: CodeExit, deriveMemoryHog: CodeMemory,
	} {
		_, err := m.Derive(t.Context(), function, nil)
		if !errors.Is(err, ErrDerivation) {
			t.Errorf("function %d: %v", function, err)
		}
		wantCode(t, err, code)
	}
	if _, err := m.Derive(t.Context(), deriveSum, make([]byte, abi.MaxScanInput+1)); !errors.Is(err, ErrDerivation) {
		t.Errorf("content above the limit: got %v, want ErrDerivation", err)
	}
	if got := derived(t, m, deriveSum, ""); got != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("the sum of empty content after failures is %s", got)
	}
	if got := derived(t, m, deriveSleep, "slept"); got != "slept" {
		t.Errorf("a derivation that sleeps returns %s, want slept", got)
	}
}

func TestSpinningDerivationEnds(t *testing.T) {
	m := newModule(t, Spec{})
	t.Run("by its fuel", func(t *testing.T) {
		m.deriver.module.spec.Fuel = 100_000_000
		defer func() { m.deriver.module.spec.Fuel = deriveFuel }()
		_, err := m.Derive(t.Context(), deriveSpin, nil)
		if failure := wantCode(t, err, CodeFuel); !errors.Is(err, ErrDerivation) || !strings.Contains(failure.Message, "100000000") {
			t.Error(err)
		}
	})
	t.Run("by the time limit", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := m.Derive(ctx, deriveSpin, nil)
		if wantCode(t, err, CodeTimeout); errors.Is(err, ErrDerivation) {
			t.Error("an exceeded time limit counts as a failure of the function")
		}
	})
	t.Run("by cancellation, as does one that waits", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() {
				_, err := m.Derive(ctx, deriveSpin, nil)
				if failure := (*Error)(nil); !errors.As(err, &failure) || failure.Code != CodeCanceled {
					t.Error(err)
				}
			})
		}
		time.AfterFunc(20*time.Millisecond, cancel)
		running.Wait()
	})
	if _, err := m.Derive(canceled(t), deriveSum, nil); errors.Is(err, ErrDerivation) {
		t.Error(err)
	} else {
		wantCode(t, err, CodeCanceled)
	}
}

// deriving returns a module whose host operations derive data from the content "x" with the function, and the error of the
// last derivation.
func deriving(t *testing.T, spec Spec, function uint32) (*Module, *error) {
	var m *Module
	var failure error
	spec.Operate = func(ctx context.Context, _ []byte) []byte {
		_, failure = m.Derive(ctx, function, []byte("x"))
		return []byte(`{"error":{"code":"failed","message":"done"}}`)
	}
	m = newModule(t, spec)
	m.deriver.module.spec.Fuel = 300_000_000
	derived(t, m, deriveSum, "") // takes the snapshot
	return m, &failure
}

func TestDerivationIsChargedToItsCall(t *testing.T) {
	for name, test := range map[string]struct {
		function uint32
		fuel     int64
		code     Code // the code of the call's failure; empty: the call succeeds
		failed   bool // whether the derive function counts as failed
	}{
		"no limit is exceeded":                        {deriveWork, 0, "", false},
		"the call exceeds its fuel limit":             {deriveWork, 10_000_000, CodeFuel, false},
		"the derivation exceeds its constant of fuel": {deriveSpin, 0, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			m, failure := deriving(t, Spec{Fuel: test.fuel}, test.function)
			ask := Prepared{Request: &call.Request{Method: abi.MethodToolsCall, Params: []byte(`{"name":"ask_once","arguments":{}}`)}}
			response, err := m.Call(t.Context(), ask)
			defer response.Release()
			if test.code != "" {
				wantCode(t, err, test.code)
				wantCode(t, *failure, test.code)
			} else if err != nil {
				t.Fatal(err)
			}
			if response.Fuel < 10_000_000 {
				t.Errorf("only %d instructions are charged", response.Fuel)
			}
			if errors.Is(*failure, ErrDerivation) != test.failed {
				t.Errorf("Derive returned %v", *failure)
			}
		})
	}
}

// A module whose derivations trap must be charged for each new instance, including the work of its start function.
func TestNewDeriveInstanceIsChargedToItsCall(t *testing.T) {
	const drop, rounds = 0x1a, 1_000_000
	module := wasmtest.Plugin(wasmtest.Code(wasmtest.Invoke(wasmtest.HostCall, 0, 2), drop, wasmtest.Invoke(wasmtest.Output, 0, 2)), "{}")
	module.Start = []byte{module.Next()}
	module.Funcs = append(module.Funcs, wasmtest.Func{Type: wasmtest.Void, Code: wasmtest.Code(
		0x03, 0x40, wasmtest.I32(8), wasmtest.I32(8), 0x28, 2, 0, wasmtest.I32(1), 0x6a, 0x36, 2, 0, // memory[8]++
		wasmtest.I32(8), 0x28, 2, 0, wasmtest.I32(rounds), 0x49, 0x0d, 0, 0x0b, // until memory[8] == rounds
		0x0b,
	)}, wasmtest.Func{Name: abi.ExportDerive, Type: wasmtest.OfTwo, Code: wasmtest.Code(0x00, 0x0b)})
	var m *Module
	m = loadBytes(t, module.Bytes(), Spec{Operate: func(ctx context.Context, _ []byte) []byte {
		for range 2 { // the first derivation runs in the instance of the snapshot, the second in a new one
			if _, err := m.Derive(ctx, 0, []byte("x")); !errors.Is(err, ErrDerivation) {
				t.Error(err)
			}
		}
		return []byte("{}")
	}})
	if _, err := m.Derive(t.Context(), 0, []byte("x")); !errors.Is(err, ErrDerivation) { // takes the snapshot
		t.Fatal(err)
	}
	response, err := m.Call(t.Context(), Prepared{Request: &call.Request{Method: abi.MethodToolsCall}})
	if err != nil {
		t.Fatal(err)
	}
	defer response.Release()
	if response.Fuel < 2*rounds {
		t.Errorf("only %d instructions are charged", response.Fuel)
	}
}

func TestDeriveFromManyGoroutines(t *testing.T) {
	m := newModule(t, Spec{})
	want := derived(t, m, deriveObserve, "x")
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			for range testenv.Count(5, 20, 20) {
				if data, err := m.Derive(t.Context(), deriveObserve, []byte("x")); err != nil || string(data) != want {
					t.Errorf("got %q, %v", data, err)
				}
			}
		})
	}
	work.Wait()
}

// A derive function may print the content of files, which must not be logged.
func TestDeriveFunctionDoesNotLog(t *testing.T) {
	var log strings.Builder
	m := newModule(t, Spec{Log: hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Trace})})
	derived(t, m, deriveObserve, "x")
	if strings.Contains(log.String(), "said") || strings.Contains(log.String(), "logged") {
		t.Error(log.String())
	}
}

// deriveModule returns a module with one page of memory and a derive function.
func deriveModule(code []byte, typ byte) wasmtest.Module {
	m := wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, 2), "{}")
	m.Funcs = append(m.Funcs, wasmtest.Func{Name: abi.ExportDerive, Type: typ, Code: wasmtest.Code(code, 0x0b)})
	return m
}

func TestModulesWithoutDerivedData(t *testing.T) {
	large := deriveModule(nil, wasmtest.OfTwo)
	large.Memory = []byte{0, 0x81, 4}                                                          // 513 pages
	table := deriveModule(wasmtest.Code(wasmtest.I32(0), 0xd0, 0x70, 0x26, 0), wasmtest.OfTwo) // table.set
	table.Tables = [][]byte{{0x70, 0, 1}}
	for name, module := range map[string]wasmtest.Module{
		"no export": wasmtest.Plugin(wasmtest.Invoke(wasmtest.Output, 0, 2), "{}"), "large initial memory": large, "state that cannot be restored": table,
	} {
		t.Run(name, func(t *testing.T) {
			m := loadBytes(t, module.Bytes(), Spec{})
			if _, err := m.Derive(t.Context(), 0, nil); m.Derives() || !errors.Is(err, ErrUnavailable) {
				t.Errorf("Derives reports %t, and Derive returns %v", m.Derives(), err)
			}
		})
	}
	t.Run("wrong signature", func(t *testing.T) {
		spec := Spec{Code: compiled(t, writeModule(t, deriveModule(nil, wasmtest.OfI32).Bytes())).Dir}
		_, err := Load(t.Context(), spec)
		if failure := wantCode(t, err, CodeInvalidModule); !strings.Contains(failure.Message, "bulkhead_derive does not have the signature (i32, i32)") {
			t.Error(failure.Message)
		}
	})
	t.Run("_initialize crashes", func(t *testing.T) {
		crashing := deriveModule(nil, wasmtest.OfTwo)
		crashing.Funcs = append(crashing.Funcs, wasmtest.Func{Name: abi.ExportInitialize, Type: wasmtest.Void, Code: []byte{0x00, 0x0b}})
		m := loadBytes(t, crashing.Bytes(), Spec{})
		for range 2 {
			if _, err := m.Derive(t.Context(), 0, nil); !errors.Is(err, ErrUnavailable) {
				t.Error(err)
			}
		}
		if !m.deriver.unusable {
			t.Error("each derivation tries to take the snapshot again")
		}
	})
}

// If the derivation before the snapshot crashes, derivations from other content still work.
func TestDeriveFunctionThatCrashesBeforeSnapshot(t *testing.T) {
	m := loadBytes(t, deriveModule(wasmtest.Code(
		0x20, 1, 0x45, 0x04, 0x40, 0x00, 0x0b, // if len == 0, unreachable
		wasmtest.Invoke(wasmtest.Output, 0, 2),
	), wasmtest.OfTwo).Bytes(), Spec{})
	for range 2 {
		if got := derived(t, m, 0, "x"); got != "{}" {
			t.Error(got)
		}
		if _, err := m.Derive(t.Context(), 0, nil); !errors.Is(err, ErrDerivation) {
			t.Error(err)
		}
	}
}

// The system may refuse memory at any time, so a result that may depend on a refusal must not be used.
func TestRefusalOfMemoryFailsDerivation(t *testing.T) {
	m := loadBytes(t, deriveModule(wasmtest.Code(
		wasmtest.I32(0), wasmtest.I32(64), 0x40, 0, 0x36, 2, 0, // memory[0] = memory.grow(64)
		wasmtest.Invoke(wasmtest.Output, 0, 4),
	), wasmtest.OfTwo).Bytes(), Spec{})
	want := derived(t, m, 0, "x")
	if want != "A\x00\x00\x00" {
		t.Fatalf("the first derivation returns %x, want 41000000", want)
	}
	space := m.deriver.module.pool.ready[0].memory.space[5<<20:]
	_, err := unix.MmapPtr(int(openRandom(t).Fd()), 0, unsafe.Pointer(&space[0]), uintptr(dirtypages.PageSize), unix.PROT_NONE, unix.MAP_SHARED|unix.MAP_FIXED)
	if err != nil { // the mapped file is open for reading, so the page cannot become writable
		t.Fatal(err)
	}
	_, err = m.Derive(t.Context(), 0, []byte("x"))
	if wantCode(t, err, CodeMemory); !errors.Is(err, ErrDerivation) {
		t.Error(err)
	}
	if got := derived(t, m, 0, "x"); got != want {
		t.Errorf("after a refusal of memory: got %x", got)
	}
}

// A cancelled first derivation must not leave a snapshot that differs from the snapshot after a complete one.
func TestSnapshotOfDeriveInstanceIsComplete(t *testing.T) {
	spin := deriveModule(wasmtest.Code(
		0x20, 1, 0x45, 0x04, 0x40, // if len == 0
		0x03, 0x40, wasmtest.I32(0), wasmtest.I32(0), 0x28, 2, 0, wasmtest.I32(1), 0x6a, 0x36, 2, 0, // memory[0]++
		wasmtest.I32(0), 0x28, 2, 0, wasmtest.I32(20_000_000), 0x49, 0x0d, 0, 0x0b, // until memory[0] == 20,000,000
		0x0b,
		wasmtest.Invoke(wasmtest.Output, 0, 4),
	), wasmtest.OfTwo).Bytes()
	m := loadBytes(t, spin, Spec{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := m.Derive(ctx, 0, []byte("x"))
	wantCode(t, err, CodeTimeout)
	if got := derived(t, m, 0, "x"); got != "\x00\x2d\x31\x01" {
		t.Errorf("got %x", got)
	}
}

// The SDK calls each derive function once before the snapshot. No state of later derivations survives.
func TestDeriveFunctionsOfSDK(t *testing.T) {
	m := loaded(t, Spec{Code: compiled(t, testcache.Must(testcache.Module("testdata/derive"))).Dir})
	for range 2 {
		if got := derived(t, m, 0, "Tea\nand more"); got != "\x03Tea" {
			t.Errorf("title: %q", got)
		}
		if got := derived(t, m, 0, ""); got != "\x00" {
			t.Errorf("title of empty content: %q", got)
		}
		if got := derived(t, m, 1, "\x05"); got != "\x0a\x04" { // First is 5; Calls is 2, since the call before the snapshot, which panicked, counts
			t.Errorf("count: %q", got)
		}
		for _, function := range []uint32{1, 2, 1 << 31} { // function 1 panics; the others do not exist
			_, err := m.Derive(t.Context(), function, nil)
			if wantCode(t, err, CodeTrap); !errors.Is(err, ErrDerivation) {
				t.Error(err)
			}
		}
	}
}

func BenchmarkDerive(b *testing.B) {
	content := strings.Repeat("x", 2000)
	m := loaded(b, Spec{Code: compiled(b, testcache.Must(testcache.Module("testdata/derive"))).Dir})
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			m.deriver.module.pool.drain()
			m.deriver.module.snapshot = nil
			derived(b, m, 0, content)
		}
	})
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			derived(b, m, 0, content)
		}
	})
}
