package meter

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
)

// rewriter is a module on its way.
//
// Indices: what is imported comes first in each space, so yield, which is imported last, moves the functions
// of the module up by one. All else is added at the end of its space and moves nothing: the helpers behind
// the functions, the two counters behind the globals, types behind the types.
type rewriter struct {
	m      *wasm.Module
	config Config
	result Result

	yield       uint32 // the index of the function
	fuel, stack uint32 // the indices of the globals

	facts   facts
	scan    scan
	planner planner
	callees []callee

	types       []wasm.FuncType // that are added
	typeIndices map[string]uint32
	helpers     []helper
	helperIndex map[string]uint32
	guards      map[uint32]uint32 // what stands for an imported function, by the index of that
}

// counters is how many mutable globals a module has besides its own: the fuel and the stack. The compiler treats
// the memory's address and length alike.
const counters = 2 + 2

func newRewriter(m *wasm.Module, c Config) *rewriter {
	w := &rewriter{m: m, config: c, yield: m.Imported.Funcs, fuel: m.Space.Globals, stack: m.Space.Globals + 1, helperIndex: map[string]uint32{}, typeIndices: map[string]uint32{}, guards: map[uint32]uint32{}}
	w.facts.written = make([]bool, m.Space.Globals)
	w.callees = make([]callee, m.Space.Funcs)
	for i := range m.Imported.Funcs {
		w.callees[i] = callee{leaf: true, cost: costHost}
	}
	w.scan = scan{module: m, facts: &w.facts, callees: w.callees, depth: c.MaxNesting, joints: c.MaxJoints, globals: counters}
	for _, g := range m.Globals {
		if g.Mutable {
			w.scan.globals++
		}
	}
	w.scan.code.MaxTable = c.MaxLabels
	w.guard()
	return w
}

// number is the new index of a function.
func (w *rewriter) number(index uint32) uint32 {
	if guard, ok := w.guards[index]; ok {
		return guard
	}
	if index >= w.yield {
		return index + 1
	}
	return index
}

// typeIndex finds a type, or adds it.
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

// survey reads every body once, checks it, and finds the short leaves and the facts. Bodies are read again
// when they are written, so that no more than one is held in its steps.
func (w *rewriter) survey() error {
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
			rest, extra := begin.rest+w.scan.perJump, begin.way-begin.rest
			if rest <= maxLeaf && extra <= maxLeafWay {
				w.callees[index] = callee{leaf: true, cost: rest, extra: extra}
			}
		}
	}
	w.report()
	return nil
}

// report sets the result's facts.
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
