package meter

import "github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"

// Config bounds what a module may have and use. Zero stands for the default.
//
// The bounds keep what it costs to compile a module in proportion to its size: a runtime's compiler takes
// memory and time by the product of variables and places where paths of a function meet.
type Config struct {
	Stack    int64 // DefaultStack: bytes of native stack; see ExportStack
	TableMax int   // DefaultTableMax: elements of a table; more at the start is refused

	MaxModule    int // DefaultMaxModule: bytes
	MaxFunctions int // DefaultMaxFunctions
	MaxBody      int // DefaultMaxBody: bytes of a function's body
	MaxLocals    int // DefaultMaxLocals: parameters and locals of a function
	MaxNesting   int // DefaultMaxNesting: blocks in each other
	MaxLabels    int // DefaultMaxLabels: of a br_table
	MaxTypes     int // DefaultMaxTypes
	MaxArity     int // DefaultMaxArity: parameters of a type, and results
	MaxImports   int // DefaultMaxImports
	MaxExports   int // DefaultMaxExports
	MaxGlobals   int // DefaultMaxGlobals
	MaxTables    int // DefaultMaxTables
	MaxElements  int // DefaultMaxElements: element segments
	MaxData      int // DefaultMaxData: data segments
	MaxName      int // DefaultMaxName: bytes of an import's or export's name

	// MaxMesh bounds the product of a function's variables (parameters, locals and mutable globals) and its
	// joints (blocks, branches and calls): DefaultMaxMesh. MaxMeshSum bounds the sum over all functions.
	MaxMesh    int64
	MaxMeshSum int64
}

// The defaults.
const (
	DefaultStack    = 16 << 20 // some ten thousand frames of Go code, or a hundred thousand small ones
	DefaultTableMax = 1 << 18  // 2 MiB: what one instruction can move well within a millisecond

	DefaultMaxModule    = 64 << 20
	DefaultMaxFunctions = 200_000
	DefaultMaxBody      = 2 << 20
	DefaultMaxLocals    = 20_000
	DefaultMaxNesting   = 5_000 // the Go compiler nests a block for each place where a function can resume: hundreds
	DefaultMaxLabels    = 40_000
	DefaultMaxTypes     = 20_000
	DefaultMaxArity     = 1_000
	DefaultMaxImports   = 1_000
	DefaultMaxExports   = 20_000
	DefaultMaxGlobals   = 2_000
	DefaultMaxTables    = 16
	DefaultMaxElements  = 20_000
	DefaultMaxData      = 200_000 // the Go linker writes thousands
	DefaultMaxName      = 10_000

	DefaultMaxMesh    = 4_000_000
	DefaultMaxMeshSum = 100_000_000
)

func (c Config) withDefaults() Config {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&c.TableMax, DefaultTableMax}, {&c.MaxModule, DefaultMaxModule}, {&c.MaxFunctions, DefaultMaxFunctions},
		{&c.MaxBody, DefaultMaxBody}, {&c.MaxLocals, DefaultMaxLocals}, {&c.MaxNesting, DefaultMaxNesting},
		{&c.MaxLabels, DefaultMaxLabels}, {&c.MaxTypes, DefaultMaxTypes}, {&c.MaxArity, DefaultMaxArity},
		{&c.MaxImports, DefaultMaxImports}, {&c.MaxExports, DefaultMaxExports}, {&c.MaxGlobals, DefaultMaxGlobals},
		{&c.MaxTables, DefaultMaxTables}, {&c.MaxElements, DefaultMaxElements}, {&c.MaxData, DefaultMaxData},
		{&c.MaxName, DefaultMaxName},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	for _, f := range []struct {
		field *int64
		value int64
	}{{&c.Stack, DefaultStack}, {&c.MaxMesh, DefaultMaxMesh}, {&c.MaxMeshSum, DefaultMaxMeshSum}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return c
}

func (c Config) bounds() wasm.Bounds {
	return wasm.Bounds{
		Types: c.MaxTypes, Arity: c.MaxArity, Imports: c.MaxImports, Functions: c.MaxFunctions, Tables: c.MaxTables,
		Globals: c.MaxGlobals, Exports: c.MaxExports, Elements: c.MaxElements, Data: c.MaxData, Body: c.MaxBody,
		Locals: c.MaxLocals, Name: c.MaxName,
	}
}

// Quantum is how much fuel a host best gives at a time: some five microseconds of usual work, and at most five
// milliseconds of the worst, which follows pointers that miss every cache (BenchmarkStalls has more). Twice as
// much is hardly faster.
const Quantum = 25_000
