package wasm

import "bytes"

// Bounds limits the contents of a module. All fields must be set.
type Bounds struct {
	Types     int
	Arity     int // most parameters of a type, and most results
	Values    int // most parameters and results of all types together
	Imports   int
	Functions int // most functions that the module defines
	Tables    int
	Globals   int
	Exports   int
	Elements  int // most element segments
	Items     int // most elements of all element segments together
	Data      int // most data segments
	Body      int // most bytes of a function's body
	Locals    int // most parameters and locals of a function
	Name      int // most bytes of the name of an import, an export or a function
	Names     int // most bytes of the names of all imports and exports together
}

// Module is a decoded module. Its byte slices alias the encoded module.
type Module struct {
	Types     []FuncType
	Imports   []Import
	Functions []uint32 // type indices of all functions, imported functions first
	Tables    []Table
	Memories  int // number of memories that the module defines, 0 or 1
	Globals   []Global
	Exports   []Export
	Start     uint32 // index of the start function; NoIndex if there is none
	Bodies    []Body
	Names     []byte // content of the first name section, which follows the name of the section; nil if there is none

	Imported  Space // numbers of imported functions, globals, tables and memories
	Space     Space // sizes of the index spaces, which include imports
	DataSizes []uint32

	sections [SectionDataCount + 1]section
	bounds   Bounds
	values   int // number of parameters and results decoded so far
	names    int // number of bytes of names decoded so far
}

type section struct {
	present bool
	content []byte
	base    int
}

// Import is an entry of the import section.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         uint32 // index of the type, if the import is a function
	Global       GlobalType
	Entry        []byte // encoded form of the import
}

// GlobalType is the value type and the mutability of a global.
type GlobalType struct {
	Type    ValueType
	Mutable bool
}

// Global is a global that the module defines.
type Global struct {
	GlobalType
	Init Expr
}

// Table is the element type and the size of a table.
type Table struct {
	Type ValueType
	Limits
}

// Limits are the limits of the size of a table, in elements, or of a memory, in pages.
type Limits struct {
	Min, Max uint32
	HasMax   bool
}

// Export is an entry of the export section.
type Export struct {
	Name  string
	Kind  Kind
	Index uint32
}

// Body is the code of a function.
type Body struct {
	Locals []byte // encoded vector of the local declarations
	Code   []byte // encoded instructions with the final end
	Offset int    // offset of Code in the module
	Count  uint32 // number of the function's parameters and locals
	Wide   bool   // whether a parameter or local is a v128
}

var header = []byte("\x00asm\x01\x00\x00\x00")

// componentHeader begins a component. It consists of the magic number, a version, and the layer 1.
var componentHeader = []byte("\x00asm\x0d\x00\x01\x00")

// Header returns the magic number and the version with which every module begins.
func Header() []byte { return bytes.Clone(header) }

// Decode decodes a module. Of the element and data sections it counts only the entries; [Module.RewriteElements] decodes the elements.
// Its error is a *FormatError or a *LimitError.
func Decode(module []byte, bounds Bounds) (*Module, error) {
	m := &Module{Start: NoIndex, bounds: bounds}
	if err := m.split(module); err != nil {
		return nil, err
	}
	for _, step := range []struct {
		id     SectionID
		decode func(*Reader)
	}{
		{SectionType, m.types}, {SectionImport, m.imports}, {SectionFunction, m.functions}, {SectionTable, m.tables},
		{SectionMemory, m.memories}, {SectionGlobal, m.globals}, {SectionDataCount, m.dataCount},
		{SectionElement, m.elements}, {SectionData, m.data}, {SectionExport, m.exports}, {SectionStart, m.start},
		{SectionCode, m.code},
	} {
		s := m.sections[step.id]
		if !s.present {
			continue
		}
		r := NewReader(s.content, s.base)
		step.decode(r)
		if r.Err() == nil && r.Len() > 0 {
			r.Fail("%d extra bytes in section %d", r.Len(), step.id)
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return m, m.agree()
}

// agree checks that the sections are consistent with each other.
func (m *Module) agree() error {
	if len(m.Functions) != int(m.Imported.Funcs)+len(m.Bodies) {
		return &FormatError{Offset: m.sections[SectionCode].base, Message: "the function and code sections have inconsistent lengths"}
	}
	if m.Space.DataCount && m.Space.Data != uint32(len(m.DataSizes)) {
		return &FormatError{Offset: m.sections[SectionData].base, Message: "the data count section does not match the data section"}
	}
	if m.Space.Memories > 1 {
		return &FormatError{Offset: m.sections[SectionMemory].base, Message: "multiple memories"}
	}
	return nil
}

// Section returns the content of the section with the given id. The bool reports whether the module has that section.
func (m *Module) Section(id SectionID) ([]byte, bool) {
	return m.sections[id].content, m.sections[id].present
}

// FuncType returns the type of the function with the given index, which must be valid.
func (m *Module) FuncType(index uint32) FuncType { return m.Types[m.Functions[index]] }

// split finds the sections of a module. They have a fixed order, but custom sections may be anywhere.
func (m *Module) split(module []byte) error {
	r := NewReader(module, 0)
	if bytes.HasPrefix(module, componentHeader) {
		return &FormatError{Message: "it is a component, not a core module"}
	}
	if !bytes.Equal(r.Bytes(uint32(len(header))), header) {
		return &FormatError{Message: "not a WebAssembly module of version 1"}
	}
	last := 0
	for r.Len() > 0 {
		at := r.Offset()
		id := SectionID(r.Byte())
		content := r.Bytes(r.U32())
		base := r.Offset() - len(content)
		if r.Err() != nil {
			return r.Err()
		}
		if id == SectionCustom {
			c := NewReader(content, base)
			name := string(c.Name())
			if c.Err() != nil {
				return c.Err()
			}
			if name == "name" && m.Names == nil {
				m.Names = c.Bytes(uint32(c.Len()))
			}
			continue
		}
		if id > SectionDataCount {
			return &FormatError{Offset: at, Message: "unknown section"}
		}
		if rank(id) <= last {
			return &FormatError{Offset: at, Message: "section out of order or duplicate"}
		}
		last = rank(id)
		m.sections[id] = section{present: true, content: content, base: base}
	}
	return nil
}

// rank returns the position of a section in the fixed order. The data count section is between the element and the code section.
func rank(id SectionID) int {
	if id == SectionDataCount {
		return 2*int(SectionElement) + 1
	}
	return 2 * int(id)
}
