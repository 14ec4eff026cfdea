package meter

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// rewriter is the state of one call of Rewrite.
//
// In each index space, imports precede definitions. The yield function is added as the last import, which increments the indices of the
// functions that the module defines. Everything else is added at the end of its index space, and changes no index: helpers after the
// functions, the two counters and the errno after the globals, types after the types.
type rewriter struct {
	m      *wasm.Module
	config Config
	result Result

	yield       uint32 // index of the imported function ImportYield
	fuel, stack uint32 // indices of the globals that are the two counters
	errno       uint32 // index of the global ExportErrno

	facts   facts
	scan    scan
	planner planner
	callees []callee

	types       []wasm.FuncType // types that the rewriter has added
	typeIndices map[string]uint32
	helpers     []helper
	helperIndex map[string]uint32
	guards      map[uint32]uint32 // index of the guard for each guarded function, keyed by that function's original index
}

// addedGlobals is the number of globals that Rewrite adds: the two counters and the errno.
const addedGlobals = 3

// hostVariables is the number of variables in addition to the module's mutable globals. These are the added globals, and the address and
// the length of the memory, which the compiler treats as variables too.
const hostVariables = addedGlobals + 2

func newRewriter(m *wasm.Module, c Config) *rewriter {
	w := &rewriter{m: m, config: c, yield: m.Imported.Funcs, fuel: m.Space.Globals, stack: m.Space.Globals + 1, errno: m.Space.Globals + 2, helperIndex: map[string]uint32{}, typeIndices: map[string]uint32{}, guards: map[uint32]uint32{}}
	w.facts.written = make([]bool, m.Space.Globals)
	w.callees = make([]callee, m.Space.Funcs)
	for i := range m.Imported.Funcs {
		w.callees[i] = callee{leaf: true, cost: costHost}
	}
	w.scan = scan{module: m, facts: &w.facts, callees: w.callees, depth: c.MaxNesting, controls: c.MaxControl, globals: hostVariables}
	for _, g := range m.Globals {
		if g.Mutable {
			w.scan.globals++
		}
	}
	w.scan.code.MaxTable = c.MaxLabels
	w.addGuards()
	return w
}

// newIndex returns the index in the rewritten module of the function with the given index.
func (w *rewriter) newIndex(index uint32) uint32 {
	if guard, ok := w.guards[index]; ok {
		return guard
	}
	if index >= w.yield {
		return index + 1
	}
	return index
}

// typeIndex returns the index of the type t. If t has not been added yet, typeIndex adds it.
func (w *rewriter) typeIndex(t wasm.FuncType) uint32 {
	key := string(t.Params) + ">" + string(t.Results) // no value type is encoded as '>'
	index, ok := w.typeIndices[key]
	if !ok {
		index = w.m.Space.Types + uint32(len(w.types))
		w.types = append(w.types, t)
		w.typeIndices[key] = index
	}
	return index
}

// analyze scans every body once. It validates the body, estimates its cost, finds out whether the function is a short leaf, and collects
// facts. Bodies are scanned again when they are written, so that the steps of only one body are in memory at the same time.
func (w *rewriter) analyze() error {
	var sum total
	for i, body := range w.m.Bodies {
		index := w.m.Imported.Funcs + uint32(i)
		if err := w.scan.read(body, w.m.FuncType(index)); err != nil {
			return fmt.Errorf("function %d: %w", index, err)
		}
		if err := sum.add(&w.scan.estimate, w.config, body.Offset); err != nil {
			return fmt.Errorf("function %d: %w", index, err)
		}
		if !w.scan.calls {
			begin := w.planner.plan(&w.scan)
			rest, extra := begin.uncharged+w.scan.perControl, begin.unchecked-begin.uncharged
			if rest <= maxLeafCost && extra <= maxLeafUnchecked {
				w.callees[index] = callee{leaf: true, cost: rest, extra: extra}
			}
		}
	}
	w.report()
	return nil
}

// report sets the fields of the result that describe the state of an instance.
func (w *rewriter) report() {
	r := &w.result
	r.ChangesTables, r.DropsSegments = w.facts.changesTables, w.facts.dropsSegments
	for _, i := range w.m.Imports {
		if i.Kind == wasm.KindMemory || i.Kind == wasm.KindTable || i.Kind == wasm.KindGlobal && i.Global.Mutable {
			r.ImportsState = true
		}
	}
	for i, g := range w.m.Globals {
		index := w.m.Imported.Globals + uint32(i)
		switch {
		case !g.Mutable:
		case g.Type == wasm.I32 || g.Type == wasm.I64 || g.Type == wasm.F32 || g.Type == wasm.F64:
			r.Globals = append(r.Globals, Global{Export: fmt.Sprintf("%s%d", exportGlobal, index), Type: g.Type})
		default:
			r.UnrestorableGlobals = r.UnrestorableGlobals || w.facts.written[index]
		}
	}
}
