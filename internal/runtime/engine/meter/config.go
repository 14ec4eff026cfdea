package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// Config limits what a module may contain and use. If a field is zero, its default applies. The comment of each field begins with the
// name of that default, followed by what the field limits.
//
// The limits keep the cost of compiling a module proportional to its size; estimate.go describes the cost model.
type Config struct {
	Stack    int64 // DefaultStack: bytes of native stack, as counted in ExportStack
	TableMax int   // DefaultTableMax: elements of a table; a module whose tables have more at their start is refused

	MaxModule    int // defaultMaxModule: bytes of the module
	MaxFunctions int // defaultMaxFunctions: functions that the module defines
	MaxBody      int // defaultMaxBody: bytes of a function's body
	MaxLocals    int // defaultMaxLocals: parameters and locals of a function
	MaxNesting   int // defaultMaxNesting: depth of nested blocks
	MaxLabels    int // defaultMaxLabels: labels of a br_table
	MaxTypes     int // defaultMaxTypes: function types
	MaxArity     int // defaultMaxArity: parameters of a type; the same limit applies to its results
	MaxValues    int // defaultMaxValues: parameters and results of all types
	MaxImports   int // defaultMaxImports: imports
	MaxExports   int // defaultMaxExports: exports
	MaxGlobals   int // defaultMaxGlobals: globals
	MaxTables    int // defaultMaxTables: tables
	MaxElements  int // defaultMaxElements: element segments
	MaxItems     int // defaultMaxItems: elements of all element segments together
	MaxData      int // defaultMaxData: data segments
	MaxName      int // defaultMaxName: bytes of the name of an import, an export or a function
	MaxNames     int // defaultMaxNames: bytes of the names of all imports and exports together
	MaxControl   int // defaultMaxControl: control instructions of a function, counted as in estimate.go

	// The following fields limit the estimates of estimate.go. Fields with the suffix Sum limit the sum over all functions; the others limit
	// each function.
	MaxBlockArgs, MaxBlockArgsSum int64 // defaultMaxBlockArgs, defaultMaxBlockArgsSum: arguments of basic blocks in the compiler's SSA form
	MaxWork, MaxWorkSum           int64 // defaultMaxWork, defaultMaxWorkSum: nanoseconds that compiling takes
	MaxCode, MaxCodeSum           int64 // defaultMaxCode, defaultMaxCodeSum: bytes of compiled code
}

// Defaults of the fields of Config.
const (
	DefaultStack    = 16 << 20 // some ten thousand frames of Go code, or a hundred thousand small ones
	DefaultTableMax = 1 << 18  // 2 MiB, which one instruction can move in much less than a millisecond

	defaultMaxModule    = 64 << 20
	defaultMaxFunctions = 200_000
	defaultMaxBody      = 2 << 20
	defaultMaxLocals    = 20_000
	defaultMaxNesting   = 5_000 // the Go compiler nests a block for each resume point of a function, and functions have hundreds of these
	defaultMaxLabels    = 40_000
	defaultMaxTypes     = 10_000
	defaultMaxArity     = 1_000
	defaultMaxValues    = 100_000 // Go modules have 20 types of 100 values
	defaultMaxImports   = 1_000
	defaultMaxExports   = 20_000
	defaultMaxGlobals   = 2_000
	defaultMaxTables    = 16
	defaultMaxElements  = 20_000
	defaultMaxItems     = DefaultTableMax // an element takes 12 bytes in the module, and 8 bytes in each instance
	defaultMaxData      = 200_000         // the Go linker writes ten data segments for each kilobyte of a module
	defaultMaxName      = 10_000
	defaultMaxNames     = 2 << 20

	// Of the functions of six Go modules, the largest has 4,750 control instructions, 93,000 block arguments, 0.3 s of work and 0.6 MB of
	// code.
	defaultMaxControl      = 30_000
	defaultMaxBlockArgs    = 4_000_000
	defaultMaxBlockArgsSum = 100_000_000
	defaultMaxWork         = 20_000_000_000
	defaultMaxWorkSum      = 100_000_000_000
	defaultMaxCode         = 8 << 20   // compiling takes about sixty times as much memory
	defaultMaxCodeSum      = 256 << 20 // the estimate for a Go module of 8 MB is 62 MB
)

func (c Config) withDefaults() Config {
	for _, f := range []struct {
		field *int
		value int
	}{
		{&c.TableMax, DefaultTableMax}, {&c.MaxModule, defaultMaxModule}, {&c.MaxFunctions, defaultMaxFunctions},
		{&c.MaxBody, defaultMaxBody}, {&c.MaxLocals, defaultMaxLocals}, {&c.MaxNesting, defaultMaxNesting},
		{&c.MaxLabels, defaultMaxLabels}, {&c.MaxTypes, defaultMaxTypes}, {&c.MaxArity, defaultMaxArity},
		{&c.MaxImports, defaultMaxImports}, {&c.MaxExports, defaultMaxExports}, {&c.MaxGlobals, defaultMaxGlobals},
		{&c.MaxTables, defaultMaxTables}, {&c.MaxElements, defaultMaxElements}, {&c.MaxData, defaultMaxData},
		{&c.MaxName, defaultMaxName}, {&c.MaxNames, defaultMaxNames}, {&c.MaxValues, defaultMaxValues},
		{&c.MaxItems, defaultMaxItems}, {&c.MaxControl, defaultMaxControl},
	} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	for _, f := range []struct {
		field *int64
		value int64
	}{
		{&c.Stack, DefaultStack}, {&c.MaxBlockArgs, defaultMaxBlockArgs}, {&c.MaxBlockArgsSum, defaultMaxBlockArgsSum},
		{&c.MaxWork, defaultMaxWork}, {&c.MaxWorkSum, defaultMaxWorkSum},
		{&c.MaxCode, defaultMaxCode}, {&c.MaxCodeSum, defaultMaxCodeSum},
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
