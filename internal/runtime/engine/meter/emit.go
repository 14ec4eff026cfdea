package meter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// module encodes the rewritten module. It generates the code section first, because that adds types and helpers.
func (w *rewriter) module() ([]byte, error) {
	code, err := w.code()
	if err != nil {
		return nil, err
	}
	yieldType := w.typeIndex(wasm.FuncType{})
	tables, err := w.tables()
	if err != nil {
		return nil, err
	}
	elements, err := w.m.RewriteElements(w.newIndex)
	if err != nil {
		return nil, err
	}
	sections := []section{
		{wasm.SectionType, w.typeSection()},
		{wasm.SectionImport, w.imports(yieldType)},
		{wasm.SectionFunction, w.functions()},
		w.optional(wasm.SectionTable, tables),
		w.same(wasm.SectionMemory),
		{wasm.SectionGlobal, w.globals()},
		{wasm.SectionExport, w.exports()},
		w.start(),
		w.optional(wasm.SectionElement, elements),
		w.same(wasm.SectionDataCount),
		w.optional(wasm.SectionCode, code),
		w.same(wasm.SectionData),
		{wasm.SectionCustom, w.names()},
	}
	all := len(wasm.Header())
	for _, s := range sections {
		all += len(s.content) + 6
	}
	out := append(make([]byte, 0, all), wasm.Header()...)
	for _, s := range sections {
		if s.content != nil {
			out = wasm.AppendSection(out, s.id, s.content)
		}
	}
	return out, nil
}

// section is a section of the rewritten module. A section with empty content is omitted.
type section struct {
	id      wasm.SectionID
	content []byte
}

// same returns a section with the content that it has in the original module.
func (w *rewriter) same(id wasm.SectionID) section {
	content, _ := w.m.Section(id)
	return section{id, content}
}

// optional returns a section with the given content, or an empty one if the original module lacks that section.
func (w *rewriter) optional(id wasm.SectionID, content []byte) section {
	if _, ok := w.m.Section(id); !ok {
		content = nil
	}
	return section{id, content}
}

func (w *rewriter) start() section {
	if w.m.Start == wasm.NoIndex {
		return section{id: wasm.SectionStart}
	}
	return section{wasm.SectionStart, wasm.AppendU32(nil, w.newIndex(w.m.Start))}
}

// extended returns the content of a section, with the length of its vector increased by added. The caller appends the added entries.
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

// tables returns the content of the table section, in which every table has a maximum size.
func (w *rewriter) tables() ([]byte, error) {
	most := uint32(w.config.TableMax)
	out := wasm.AppendU32(nil, uint32(len(w.m.Tables)))
	for _, t := range w.m.Tables {
		if t.Min > most {
			return nil, &wasm.LimitError{What: "initial elements of a table", Have: uint64(t.Min), Limit: uint64(most)}
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
	out := wasm.AppendU32(nil, uint32(len(w.m.Globals)+addedGlobals))
	for _, g := range w.m.Globals {
		mutable := byte(0)
		if g.Mutable {
			mutable = 1
		}
		out = g.Init.Append(append(out, byte(g.Type), mutable), w.newIndex)
	}
	for _, start := range [addedGlobals]int64{0, w.config.Stack, ErrnoIO} {
		a := asm{byte(wasm.I64), 1}
		out = append(out, *a.i64(start).op(wasm.OpEnd)...)
	}
	return out
}

func (w *rewriter) exports() []byte {
	out := wasm.AppendU32(nil, uint32(len(w.m.Exports)+addedGlobals+len(w.result.Globals)))
	for _, e := range w.m.Exports {
		if e.Kind == wasm.KindFunc {
			e.Index = w.newIndex(e.Index)
		}
		out = appendExport(out, e)
	}
	out = appendExport(out, wasm.Export{Name: ExportFuel, Kind: wasm.KindGlobal, Index: w.fuel})
	out = appendExport(out, wasm.Export{Name: ExportStack, Kind: wasm.KindGlobal, Index: w.stack})
	out = appendExport(out, wasm.Export{Name: ExportErrno, Kind: wasm.KindGlobal, Index: w.errno})
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

// code returns the content of the code section.
func (w *rewriter) code() ([]byte, error) {
	const room = 5 // bytes for the number of bodies, which is known only at the end
	content, _ := w.m.Section(wasm.SectionCode)
	out := make(asm, room, room+len(content)+len(content)/4)
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
	n := wasm.AppendU32(nil, uint32(len(w.m.Bodies)+len(w.helpers)))
	from := room - len(n)
	copy(out[from:], n)
	return out[from:], nil
}

func (w *rewriter) names() []byte {
	var added []wasm.FunctionName
	for i, h := range w.helpers {
		added = append(added, wasm.FunctionName{Index: w.m.Space.Funcs + 1 + uint32(i), Name: h.name})
	}
	return w.m.RewriteNames(w.newIndex, added)
}
