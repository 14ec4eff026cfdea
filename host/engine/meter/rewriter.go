package meter

import (
	"bytes"
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
	helpers     []helper
	helperIndex map[string]uint32
	guards      map[uint32]uint32 // what stands for an imported function, by the index of that
}

func newRewriter(m *wasm.Module, c Config) *rewriter {
	w := &rewriter{m: m, config: c, yield: m.Imported.Funcs, fuel: m.Space.Globals, stack: m.Space.Globals + 1, helperIndex: map[string]uint32{}, guards: map[uint32]uint32{}}
	w.facts.written = make([]bool, m.Space.Globals)
	w.callees = make([]callee, m.Space.Funcs)
	for i := range m.Imported.Funcs {
		w.callees[i] = callee{leaf: true, cost: costHost}
	}
	w.scan = scan{module: m, facts: &w.facts, callees: w.callees, depth: c.MaxNesting}
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
	for i, have := range w.types {
		if bytes.Equal(have.Params, t.Params) && bytes.Equal(have.Results, t.Results) {
			return w.m.Space.Types + uint32(i)
		}
	}
	w.types = append(w.types, t)
	return w.m.Space.Types + uint32(len(w.types)-1)
}

// survey reads every body once, checks it, and finds the short leaves and the facts. Bodies are read again
// when they are written, so that no more than one is held in its steps.
func (w *rewriter) survey() error {
	variables := int64(0)
	for _, g := range w.m.Globals {
		if g.Mutable {
			variables++
		}
	}
	sum := int64(0)
	for i, body := range w.m.Bodies {
		index := w.m.Imported.Funcs + uint32(i)
		if err := w.scan.read(body, w.m.FuncType(index)); err != nil {
			return fmt.Errorf("function %d: %w", index, err)
		}
		mesh := (variables + int64(body.Count) + 2) * w.scan.joints
		if sum += mesh; mesh > w.config.MaxMesh {
			return &wasm.LimitError{Offset: body.Offset, What: "variables times joints of a function", Have: uint64(mesh), Limit: uint64(w.config.MaxMesh)}
		}
		if sum > w.config.MaxMeshSum {
			return &wasm.LimitError{Offset: body.Offset, What: "variables times joints of all functions", Have: uint64(sum), Limit: uint64(w.config.MaxMeshSum)}
		}
		if !w.scan.calls {
			begin := w.planner.plan(&w.scan)
			if rest := begin.rest + w.scan.perJump; rest <= maxLeaf {
				w.callees[index] = callee{leaf: true, cost: rest, extra: begin.way - begin.rest}
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
