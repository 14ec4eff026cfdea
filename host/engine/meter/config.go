package meter

import "github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"

// Config bounds what a module may have and use. Zero stands for the default.
//
// The bounds keep what it costs to compile a module in proportion to its size; estimate.go says what a runtime's
// compiler takes.
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
	MaxValues    int // DefaultMaxValues: parameters and results of all types
	MaxImports   int // DefaultMaxImports
	MaxExports   int // DefaultMaxExports
	MaxGlobals   int // DefaultMaxGlobals
	MaxTables    int // DefaultMaxTables
	MaxElements  int // DefaultMaxElements: element segments
	MaxItems     int // DefaultMaxItems: elements of all element segments
	MaxData      int // DefaultMaxData: data segments
	MaxName      int // DefaultMaxName: bytes of an import's, an export's or a function's name
	MaxNames     int // DefaultMaxNames: bytes of the names of all imports and exports
	MaxJoints    int // DefaultMaxJoints: blocks, branches and calls of a function

	// The rest bounds the estimates of estimate.go, of a function and of all functions.
	MaxMesh, MaxMeshSum int64 // DefaultMaxMesh, DefaultMaxMeshSum: values that compiled code passes on
	MaxWork, MaxWorkSum int64 // DefaultMaxWork, DefaultMaxWorkSum: nanoseconds of compiling
	MaxCode, MaxCodeSum int64 // DefaultMaxCode, DefaultMaxCodeSum: bytes of compiled code
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
	DefaultMaxTypes     = 10_000
	DefaultMaxArity     = 1_000
	DefaultMaxValues    = 100_000 // Go modules have 20 types of 100 values
	DefaultMaxImports   = 1_000
	DefaultMaxExports   = 20_000
	DefaultMaxGlobals   = 2_000
	DefaultMaxTables    = 16
	DefaultMaxElements  = 20_000
	DefaultMaxItems     = DefaultTableMax // more than a table holds; each takes 12 bytes, and 8 in every instance
	DefaultMaxData      = 200_000         // the Go linker writes ten for each kilobyte of a module
	DefaultMaxName      = 10_000
	DefaultMaxNames     = 2 << 20

	// The largest function of six modules in Go has 4,750 joints, a mesh of 93,000, 0.3 s of work and 0.6 MB of code.
	DefaultMaxJoints  = 30_000
	DefaultMaxMesh    = 4_000_000
	DefaultMaxMeshSum = 100_000_000
	DefaultMaxWork    = 20_000_000_000
	DefaultMaxWorkSum = 100_000_000_000
	DefaultMaxCode    = 8 << 20   // compiling takes some sixty times as much memory
	DefaultMaxCodeSum = 256 << 20 // a Go module of 8 MB is taken to have 62 MB
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
		{&c.MaxName, DefaultMaxName}, {&c.MaxNames, DefaultMaxNames}, {&c.MaxValues, DefaultMaxValues},
		{&c.MaxItems, DefaultMaxItems}, {&c.MaxJoints, DefaultMaxJoints},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	for _, f := range []struct {
		field *int64
		value int64
	}{
		{&c.Stack, DefaultStack}, {&c.MaxMesh, DefaultMaxMesh}, {&c.MaxMeshSum, DefaultMaxMeshSum},
		{&c.MaxWork, DefaultMaxWork}, {&c.MaxWorkSum, DefaultMaxWorkSum},
		{&c.MaxCode, DefaultMaxCode}, {&c.MaxCodeSum, DefaultMaxCodeSum},
	} {
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
		Locals: c.MaxLocals, Name: c.MaxName, Names: c.MaxNames, Values: c.MaxValues, Items: c.MaxItems,
	}
}

// Quantum is how much fuel a host best gives at a time: some five microseconds of usual work, and at most five
// milliseconds of the worst, which follows pointers that miss every cache (BenchmarkStalls has more). Twice as
// much is hardly faster.
const Quantum = 25_000
