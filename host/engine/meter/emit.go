package meter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
)

// module is the rewritten module. The code is written first: it decides what types and helpers there are.
func (w *rewriter) module(size int) ([]byte, error) {
	code, err := w.code(size)
	if err != nil {
		return nil, err
	}
	yieldType := w.typeIndex(wasm.FuncType{})
	tables, err := w.tables()
	if err != nil {
		return nil, err
	}
	elements, err := w.m.RewriteElements(w.number)
	if err != nil {
		return nil, err
	}
	out := append(make([]byte, 0, size+len(code)/2), wasm.Header()...)
	out = wasm.AppendSection(out, wasm.SectionType, w.typeSection())
	out = wasm.AppendSection(out, wasm.SectionImport, w.imports(yieldType))
	out = wasm.AppendSection(out, wasm.SectionFunction, w.functions())
	out = w.optional(out, wasm.SectionTable, tables)
	out = w.same(out, wasm.SectionMemory)
	out = wasm.AppendSection(out, wasm.SectionGlobal, w.globals())
	out = wasm.AppendSection(out, wasm.SectionExport, w.exports())
	if w.m.Start != wasm.NoIndex {
		out = wasm.AppendSection(out, wasm.SectionStart, wasm.AppendU32(nil, w.number(w.m.Start)))
	}
	out = w.optional(out, wasm.SectionElement, elements)
	out = w.same(out, wasm.SectionDataCount)
	out = w.optional(out, wasm.SectionCode, code)
	out = w.same(out, wasm.SectionData)
	return wasm.AppendSection(out, wasm.SectionCustom, w.names()), nil
}

// same appends a section as it stands.
func (w *rewriter) same(out []byte, id wasm.SectionID) []byte {
	if content, ok := w.m.Section(id); ok {
		return wasm.AppendSection(out, id, content)
	}
	return out
}

// optional appends a section that the module has.
func (w *rewriter) optional(out []byte, id wasm.SectionID, content []byte) []byte {
	if _, ok := w.m.Section(id); ok {
		return wasm.AppendSection(out, id, content)
	}
	return out
}

// extended is a vector with entries added: its content in the module follows its length.
func (w *rewriter) extended(id wasm.SectionID, added int) []byte {
	content, _ := w.m.Section(id)
	if len(content) == 0 {
		return wasm.AppendU32(nil, uint32(added))
	}
	n, size := wasm.ReadU32(content)
	out := make([]byte, 0, len(content)+added*16+5)
	return append(wasm.AppendU32(out, n+uint32(added)), content[size:]...)
}

func (w *rewriter) typeSection() []byte {
	out := w.extended(wasm.SectionType, len(w.types))
	for _, t := range w.types {
		out = wasm.AppendVector(append(out, 0x60), t.Params)
		out = wasm.AppendVector(out, t.Results)
	}
	return out
}

func (w *rewriter) imports(yieldType uint32) []byte {
	out := wasm.AppendU32(nil, uint32(len(w.m.Imports)+1))
	for _, i := range w.m.Imports {
		out = append(out, i.Entry...)
	}
	out = wasm.AppendVector(out, []byte(ImportModule))
	out = wasm.AppendVector(out, []byte(ImportYield))
	return wasm.AppendU32(append(out, byte(wasm.KindFunc)), yieldType)
}

func (w *rewriter) functions() []byte {
	out := w.extended(wasm.SectionFunction, len(w.helpers))
	for _, h := range w.helpers {
		out = wasm.AppendU32(out, h.typ)
	}
	return out
}

// tables gives every table a maximum.
func (w *rewriter) tables() ([]byte, error) {
	most := uint32(w.config.TableMax)
	out := wasm.AppendU32(nil, uint32(len(w.m.Tables)))
	for _, t := range w.m.Tables {
		if t.Min > most {
			return nil, &wasm.LimitError{What: "elements of a table at the start", Have: uint64(t.Min), Limit: uint64(most)}
		}
		if !t.HasMax || t.Max > most {
			t.Max = most
		}
		out = append(out, byte(t.Type), 1)
		out = wasm.AppendU32(wasm.AppendU32(out, t.Min), t.Max)
	}
	return out, nil
}

func (w *rewriter) globals() []byte {
	out := wasm.AppendU32(nil, uint32(len(w.m.Globals)+2))
	for _, g := range w.m.Globals {
		mutable := byte(0)
		if g.Mutable {
			mutable = 1
		}
		out = g.Init.Append(append(out, byte(g.Type), mutable), w.number)
	}
	for _, start := range []int64{0, w.config.Stack} {
		a := asm{byte(wasm.I64), 1}
		out = append(out, *a.i64(start).op(wasm.OpEnd)...)
	}
	return out
}

func (w *rewriter) exports() []byte {
	out := wasm.AppendU32(nil, uint32(len(w.m.Exports)+2+len(w.result.Globals)))
	for _, e := range w.m.Exports {
		if e.Kind == wasm.KindFunc {
			e.Index = w.number(e.Index)
		}
		out = appendExport(out, e)
	}
	out = appendExport(out, wasm.Export{Name: ExportFuel, Kind: wasm.KindGlobal, Index: w.fuel})
	out = appendExport(out, wasm.Export{Name: ExportStack, Kind: wasm.KindGlobal, Index: w.stack})
	for _, g := range w.result.Globals {
		index, _ := strconv.ParseUint(strings.TrimPrefix(g.Export, exportGlobal), 10, 32)
		out = appendExport(out, wasm.Export{Name: g.Export, Kind: wasm.KindGlobal, Index: uint32(index)})
	}
	return out
}

func appendExport(out []byte, e wasm.Export) []byte {
	out = append(wasm.AppendVector(out, []byte(e.Name)), byte(e.Kind))
	return wasm.AppendU32(out, e.Index)
}

// code is the content of the code section.
func (w *rewriter) code(size int) ([]byte, error) {
	out := make(asm, 0, size)
	var one asm
	for i, body := range w.m.Bodies {
		index := w.m.Imported.Funcs + uint32(i)
		t := w.m.FuncType(index)
		if err := w.scan.read(body, t); err != nil {
			return nil, fmt.Errorf("function %d: %w", index, err)
		}
		one = one[:0]
		w.function(&one, body, t, w.callees[index])
		out = wasm.AppendVector(out, one)
	}
	for _, h := range w.helpers {
		out = wasm.AppendVector(out, h.body)
	}
	return append(wasm.AppendU32(make([]byte, 0, len(out)+5), uint32(len(w.m.Bodies)+len(w.helpers))), out...), nil
}

func (w *rewriter) names() []byte {
	var added []wasm.FunctionName
	for i, h := range w.helpers {
		added = append(added, wasm.FunctionName{Index: w.m.Space.Funcs + 1 + uint32(i), Name: h.name})
	}
	return w.m.RewriteNames(w.number, added)
}
