package wasm

// ValueType is the type of a value as encoded in the binary format.
type ValueType byte

// Values of ValueType.
const (
	I32       ValueType = 0x7f
	I64       ValueType = 0x7e
	F32       ValueType = 0x7d
	F64       ValueType = 0x7c
	V128      ValueType = 0x7b
	FuncRef   ValueType = 0x70
	ExternRef ValueType = 0x6f
)

func (t ValueType) String() string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return "unknown type"
}

func (t ValueType) valid() bool { return t >= V128 && t <= I32 || t.reference() }

func (t ValueType) reference() bool { return t == FuncRef || t == ExternRef }

// FuncType is the type of a function. Its slices alias the encoded module.
type FuncType struct{ Params, Results []byte }

// Kind is the kind of an import or export.
type Kind byte

// Values of Kind.
const (
	KindFunc   Kind = 0
	KindTable  Kind = 1
	KindMemory Kind = 2
	KindGlobal Kind = 3
)

// SectionID identifies a section.
type SectionID byte

// Values of SectionID.
const (
	SectionCustom    SectionID = 0
	SectionType      SectionID = 1
	SectionImport    SectionID = 2
	SectionFunction  SectionID = 3
	SectionTable     SectionID = 4
	SectionMemory    SectionID = 5
	SectionGlobal    SectionID = 6
	SectionExport    SectionID = 7
	SectionStart     SectionID = 8
	SectionElement   SectionID = 9
	SectionCode      SectionID = 10
	SectionData      SectionID = 11
	SectionDataCount SectionID = 12
)

// BlockVoid is the encoded type of a block without parameters and results. For a block with a single result, the encoded type is the
// ValueType of that result.
const BlockVoid byte = 0x40
