package meter_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter"
)

// FuzzRewrite checks that Rewrite does not panic, that the rewritten module compiles if and only if the original module does, and that
// both modules behave identically.
func FuzzRewrite(f *testing.F) {
	for _, h := range seeds() {
		f.Add(h.Bytes())
	}
	f.Fuzz(differential(f))
}

// FuzzDispatch checks that rewritten functions with nested dispatches and jumps behave as the original ones do. Random bytes are hardly
// ever a valid module with a dispatch, so the functions are generated from a seed.
func FuzzDispatch(f *testing.F) {
	for seed := range uint64(testenv.Count(40, 300, 300)) {
		f.Add(seed)
	}
	compare := differential(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		d := dispatches{r: rand.New(rand.NewPCG(seed, 0))}
		d.block(0x02, func() { d.loop(2) })
		compare(t, one(tToI32, []byte{1, 3, 0x7f}, append(d.body, 0x20, 2, 0x0b)).Bytes())
	})
}

// dispatches generates a function whose result depends on the path through it. Locals 0 and 1 select labels. Local 2 is a random number,
// which each part changes; it decides which jumps are executed, so that most loops end.
type dispatches struct {
	r     *rand.Rand
	body  []byte
	depth int // number of open blocks
	loops []struct{ depth, local int }
}

func (d *dispatches) add(parts ...any) { d.body = append(d.body, code(parts...)...) }

func (d *dispatches) block(op byte, content func()) {
	d.add(op, 0x40)
	d.depth++
	content()
	d.add(0x0b)
	d.depth--
}

// maybeAddEffect sometimes adds instructions whose effect on the result depends on the path.
func (d *dispatches) maybeAddEffect() {
	if d.r.IntN(20) == 0 {
		d.add(0x20, 2, i32(3), 0x71, 0x21, d.r.IntN(2))
	}
}

func (d *dispatches) part(level int) {
	d.add(0x20, 2, i32(69069), 0x6c, i32(d.r.Int32()), 0x6a, 0x21, 2)
	for range 1 + d.r.IntN(4) {
		switch kind := d.r.IntN(5); {
		case kind == 0 && level > 0:
			d.loop(level - 1)
		case kind == 1 && level > 0:
			d.block(0x02, func() { d.part(level - 1) })
		default:
			d.add(0x20, 2, i32(1<<d.r.IntN(31)), 0x71)
			d.block(0x04, func() {
				if kind == 2 && level > 0 {
					d.part(level - 1)
				}
				local, label := d.r.IntN(2), d.r.IntN(d.depth)
				if n := len(d.loops); n > 0 && d.r.IntN(4) > 0 {
					to := d.loops[d.r.IntN(n)]
					local, label = to.local, d.depth-to.depth
				}
				d.add(i32(d.r.Int32N(5)-1), 0x21, local)
				d.maybeAddEffect()
				d.add(0x0c, label)
			})
		}
	}
}

// loop adds a loop that begins with a dispatch.
func (d *dispatches) loop(level int) {
	blocks := 2 + d.r.IntN(4)
	local := d.r.IntN(2)
	d.block(0x03, func() {
		d.loops = append(d.loops, struct{ depth, local int }{d.depth, local})
		for range blocks {
			d.maybeAddEffect()
			d.add(0x02, 0x40)
		}
		d.depth += blocks
		d.maybeAddEffect()
		d.add(0x20, local, 0x0e, 3)
		for range 4 {
			most := blocks
			if d.r.IntN(10) == 0 {
				most = d.depth
			}
			d.add(d.r.IntN(most))
		}
		for range blocks {
			d.add(0x0b)
			d.depth--
			d.part(level)
		}
		d.loops = d.loops[:len(d.loops)-1]
	})
}

// differential returns a function that runs a module and its rewritten version, and compares their behaviour.
func differential(f *testing.F) func(*testing.T, []byte) {
	small := meter.DefaultConfig()
	small.MaxModule, small.Functions, small.Locals, small.MaxBlockArgs, small.TableMax, small.Stack = 1<<16, 1000, 500, 50_000, 1000, 1<<20
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2).WithMemoryLimitPages(64))
	f.Cleanup(func() { runtime.Close(ctx) })
	if _, err := runtime.NewHostModuleBuilder("host").NewFunctionBuilder().WithFunc(func() {}).Export("nothing").Instantiate(ctx); err != nil {
		f.Fatal(err)
	}
	left := 0
	instantiateYield(f, runtime, func(fuel api.MutableGlobal) {
		if left--; left < 0 {
			panic(errStop)
		}
		fuel.Set(meter.Quantum)
	})
	return func(t *testing.T, module []byte) {
		r, err := meter.Rewrite(module, small)
		if err != nil {
			return
		}
		original, err := runtime.CompileModule(ctx, module)
		if err == nil {
			defer original.Close(ctx)
		}
		rewritten, again := runtime.CompileModule(ctx, r.Module)
		if again == nil {
			defer rewritten.Close(ctx)
		}
		// wazero refuses modules with malformed custom sections. Rewrite drops these sections.
		if custom := err != nil && strings.Contains(err.Error(), "custom"); (err == nil) != (again == nil) && !custom {
			t.Errorf("compiled: %v, and rewritten: %v", err, again)
		}
		if err != nil || again != nil {
			return
		}
		// The rewritten module runs first: if the meter does not stop that module, the original one terminates too.
		left = 20
		got, stopped := outcome(ctx, runtime, rewritten)
		if stopped {
			return
		}
		if want, _ := outcome(ctx, runtime, original); !cmp.Equal(want, got) {
			t.Errorf("outcome (-original +rewritten):\n%s", cmp.Diff(want, got))
		}
	}
}

// outcome returns the results of calling all exported functions of an instance. stopped reports whether the meter stopped the instance.
func outcome(ctx context.Context, runtime wazero.Runtime, compiled wazero.CompiledModule) (all []string, stopped bool) {
	m, err := runtime.InstantiateModule(ctx, compiled, wazero.NewModuleConfig().WithName(""))
	if err != nil {
		return []string{"no instance"}, errors.Is(err, errStop) || reason(err) == tooDeep
	}
	defer m.Close(ctx)
	exports := compiled.ExportedFunctions()
	for _, name := range slices.Sorted(maps.Keys(exports)) {
		results, err := m.ExportedFunction(name).Call(ctx, make([]uint64, slots(exports[name].ParamTypes()))...)
		if errors.Is(err, errStop) || reason(err) == tooDeep || outOfStack(m) {
			return nil, true
		}
		for i, typ := range exports[name].ResultTypes() {
			if err == nil && (typ == api.ValueTypeI32 || typ == api.ValueTypeI64) && len(results) == len(exports[name].ResultTypes()) {
				all = append(all, fmt.Sprintf("%q: %x", name, results[i]))
			}
		}
		all = append(all, fmt.Sprintf("%q: %s", name, reason(err)))
		if err != nil {
			break // an instance must not be used after a trap
		}
	}
	for name := range compiled.ExportedMemories() {
		memory := m.ExportedMemory(name)
		content, _ := memory.Read(0, memory.Size())
		all = append(all, fmt.Sprintf("memory: %x", sha256.Sum256(content)))
	}
	return all, false
}

// outOfStack reports whether the meter stopped the instance m because calls nested too deep. It does not rely on the stack trace,
// because a module can have any function names.
func outOfStack(m api.Module) bool {
	left := m.ExportedGlobal(meter.ExportStack)
	return left != nil && int64(left.Get()) < 0
}

// slots returns the number of uint64 values in which wazero passes values of the given types.
func slots(types []api.ValueType) (n int) {
	for _, t := range types {
		if n++; t == 0x7b {
			n++ // a v128 takes two of them
		}
	}
	return n
}

// seeds returns modules that together contain every section, and every kind of instruction that Rewrite changes.
func seeds() []wasmtest.Module {
	ranges := one(tRange, nil, code(
		0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 10, 0, 0, 0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 11, 0,
		0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 8, 0, 0, 0xfc, 9, 0, i32(1), 0x40, 0, 0x1a,
		0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 12, 0, 0, 0x20, 0, 0x20, 1, 0x20, 2, 0xfc, 14, 0, 0,
		0xd2, 0, 0x20, 0, 0xfc, 15, 0, 0x1a, 0x20, 0, 0xd0, 0x70, 0x20, 1, 0xfc, 17, 0, 0xfc, 13, 0, 0x0b))
	ranges.Tables, ranges.Elements = [][]byte{{0x70, 1, 2, 9}}, [][]byte{{1, 0, 1, 0}}
	ranges.Data, ranges.Counted = [][]byte{{1, 2, 'a', 'b'}, {0, 0x41, 3, 0x0b, 1, 'c'}}, true
	calls := wasmtest.Module{
		Types:   someTypes,
		Imports: []wasmtest.Import{imported("host", "nothing", tVoid)},
		Funcs: []wasmtest.Func{
			function("a", tI32Pair, []byte{1, 2, 0x7b}, code(0x10, 0, 0x20, 0, 0x04, 0x40, i32(1), 0x42, 2, 0x0f, 0x0b, i32(3), 0x42, 4, 0x20, 0, 0x0d, 0, 0x0b)),
			function("b", tToPair, nil, code(0x02, tToPair, i32(1), i32(2), i32(0), 0x0e, 1, 0, 1, 0x0b, 0x10, 2, 0x1a, 0x1a, 0x0b)),
			function("c", tI32ToI32, nil, code(0x03, 0x7f, 0x20, 0, 0x20, 0, i32(1), 0x6b, 0x22, 0, 0x0d, 0, 0x20, 0, 0x11, tToI32, 0, 0x6a, 0x0b, 0x0b)),
		},
		Tables:   [][]byte{{0x70, 0, 4}, {0x6f, 0, 1}},
		Globals:  [][]byte{{0x7f, 1, 0x41, 1, 0x0b}, {0x70, 0, 0xd2, 1, 0x0b}},
		Start:    []byte{0},
		Elements: [][]byte{{0, 0x41, 0, 0x0b, 2, 1, 2}, {5, 0x70, 2, 0xd2, 3, 0x0b, 0xd0, 0x70, 0x0b}, {3, 0, 1, 1}},
		Custom:   [][]byte{code(text("name"), 0, text("\x01m"), 1, text("\x01\x01\x01f"))},
	}
	vectors := one(tVoid, []byte{1, 1, 0x7b}, code(
		i32(0), 0xfd, 0, 4, 0, 0xfd, 12, make([]byte, 16), 0xfd, 13, make([]byte, 16), 0xfd, 0x80, 1, 0x21, 0,
		i32(0), 0x20, 0, 0xfd, 0x58, 0, 0, 3, 0x20, 0, 0xfd, 0x15, 2, 0x1a,
		0x43, 0, 0, 0, 0, 0xfc, 0, 0x1a, 0x44, make([]byte, 8), 0xfc, 7, 0x1a, i32(1), i32(2), i32(3), 0x1c, 1, 0x7f, 0x1a, 0x0b))
	// dispatch is a loop around three blocks, with one jump forward and one jump backward.
	dispatch := one(tI32ToI32, []byte{1, 2, 0x7f}, code(
		0x03, 0x40, 0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x20, 1, 0x0e, 2, 0, 1, 2, 0x0b,
		0x20, 0, 0x04, 0x40, i32(2), 0x21, 1, 0x0c, 3, 0x0b, 0x0b, 0x20, 2, i32(1), 0x6a, 0x21, 2, 0x0b,
		0x20, 2, i32(5), 0x6a, 0x22, 2, i32(20), 0x49, 0x04, 0x40, i32(1), 0x21, 1, 0x0c, 1, 0x0b, 0x0b, 0x20, 2, 0x0b))
	return []wasmtest.Module{{}, ranges, calls, vectors, dispatch, one(tVoid, nil, code(repeat(300, 0x01), 0x0b))}
}

func TestSeedsAreValid(t *testing.T) {
	for i, h := range seeds() {
		runtime := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfig().WithCoreFeatures(api.CoreFeaturesV2))
		if _, err := runtime.CompileModule(t.Context(), h.Bytes()); err != nil {
			t.Errorf("seed %d: %v", i, err)
		}
		if _, err := runtime.CompileModule(t.Context(), rewrite(t, h.Bytes()).Module); err != nil {
			t.Errorf("seed %d, rewritten: %v", i, err)
		}
		runtime.Close(t.Context())
	}
}
