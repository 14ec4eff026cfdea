package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// Config limits what a module may contain and use. If a field is zero, its default applies. The comment of each field begins with the
// name of that default, followed by what the field limits.
//
// The limits keep the cost of compiling a module proportional to its size; estimate.go describes the cost model.
type Config struct {
	Stack    int64 // DefaultStack: bytes of native stack, as counted in ExportStack
	TableMax int   // DefaultTableMax: elements of a table; a module whose tables have more at their start is refused

	MaxModule    int // DefaultMaxModule: bytes of the module
	MaxFunctions int // DefaultMaxFunctions: functions that the module defines
	MaxBody      int // DefaultMaxBody: bytes of a function's body
	MaxLocals    int // DefaultMaxLocals: parameters and locals of a function
	MaxNesting   int // DefaultMaxNesting: depth of nested blocks
	MaxLabels    int // DefaultMaxLabels: labels of a br_table
	MaxTypes     int // DefaultMaxTypes: function types
	MaxArity     int // DefaultMaxArity: parameters of a type; the same limit applies to its results
	MaxValues    int // DefaultMaxValues: parameters and results of all types
	MaxImports   int // DefaultMaxImports: imports
	MaxExports   int // DefaultMaxExports: exports
	MaxGlobals   int // DefaultMaxGlobals: globals
	MaxTables    int // DefaultMaxTables: tables
	MaxElements  int // DefaultMaxElements: element segments
	MaxItems     int // DefaultMaxItems: elements of all element segments together
	MaxData      int // DefaultMaxData: data segments
	MaxName      int // DefaultMaxName: bytes of the name of an import, an export or a function
	MaxNames     int // DefaultMaxNames: bytes of the names of all imports and exports together
	MaxControl   int // DefaultMaxControl: control instructions of a function, counted as in estimate.go

	// The following fields limit the estimates of estimate.go. Fields with the suffix Sum limit the sum over all functions; the others limit
	// each function.
	MaxBlockArgs, MaxBlockArgsSum int64 // DefaultMaxBlockArgs, DefaultMaxBlockArgsSum: arguments of basic blocks in the compiler's SSA form
	MaxWork, MaxWorkSum           int64 // DefaultMaxWork, DefaultMaxWorkSum: nanoseconds that compiling takes
	MaxCode, MaxCodeSum           int64 // DefaultMaxCode, DefaultMaxCodeSum: bytes of compiled code
}

// Defaults of the fields of Config.
const (
	DefaultStack    = 16 << 20 // some ten thousand frames of Go code, or a hundred thousand small ones
	DefaultTableMax = 1 << 18  // 2 MiB, which one instruction can move in much less than a millisecond

	DefaultMaxModule    = 64 << 20
	DefaultMaxFunctions = 200_000
	DefaultMaxBody      = 2 << 20
	DefaultMaxLocals    = 20_000
	DefaultMaxNesting   = 5_000 // the Go compiler nests a block for each resume point of a function, and functions have hundreds of these
	DefaultMaxLabels    = 40_000
	DefaultMaxTypes     = 10_000
	DefaultMaxArity     = 1_000
	DefaultMaxValues    = 100_000 // Go modules have 20 types of 100 values
	DefaultMaxImports   = 1_000
	DefaultMaxExports   = 20_000
	DefaultMaxGlobals   = 2_000
	DefaultMaxTables    = 16
	DefaultMaxElements  = 20_000
	DefaultMaxItems     = DefaultTableMax // an element takes 12 bytes in the module, and 8 bytes in each instance
	DefaultMaxData      = 200_000         // the Go linker writes ten data segments for each kilobyte of a module
	DefaultMaxName      = 10_000
	DefaultMaxNames     = 2 << 20

	// Of the functions of six Go modules, the largest has 4,750 control instructions, 93,000 block arguments, 0.3 s of work and 0.6 MB of
	// code.
	DefaultMaxControl      = 30_000
	DefaultMaxBlockArgs    = 4_000_000
	DefaultMaxBlockArgsSum = 100_000_000
	DefaultMaxWork         = 20_000_000_000
	DefaultMaxWorkSum      = 100_000_000_000
	DefaultMaxCode         = 8 << 20   // compiling takes about sixty times as much memory
	DefaultMaxCodeSum      = 256 << 20 // the estimate for a Go module of 8 MB is 62 MB
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
		{&c.MaxItems, DefaultMaxItems}, {&c.MaxControl, DefaultMaxControl},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	for _, f := range []struct {
		field *int64
		value int64
	}{
		{&c.Stack, DefaultStack}, {&c.MaxBlockArgs, DefaultMaxBlockArgs}, {&c.MaxBlockArgsSum, DefaultMaxBlockArgsSum},
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

// Quantum is the recommended amount of fuel to grant at a time. A module uses it up in several microseconds of typical work. The slowest
// work, loads that miss every cache, takes at most five milliseconds (see BenchmarkStalls). A larger amount makes modules hardly
// faster.
const Quantum = 25_000
