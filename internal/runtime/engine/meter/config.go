package meter

import "github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"

// Config limits what a module may contain and use. Start with DefaultConfig.
//
// The limits keep the cost of compiling a module proportional to its size; estimate.go describes the cost model.
type Config struct {
	wasm.Bounds
	Stack      int64 // bytes of native stack, as counted in ExportStack
	TableMax   int   // elements of a table; a module whose tables have more at their start is refused
	MaxModule  int   // bytes of the module
	MaxNesting int   // depth of nested blocks
	MaxLabels  int   // labels of a br_table
	MaxControl int   // control instructions of a function, counted as in estimate.go

	// The following fields limit the estimates of estimate.go. Fields with the suffix Sum limit the sum over all functions; the others limit
	// each function.
	MaxBlockArgs, MaxBlockArgsSum int64 // arguments of basic blocks in the compiler's SSA form
	MaxWork, MaxWorkSum           int64 // nanoseconds that compiling takes
	MaxCode, MaxCodeSum           int64 // bytes of compiled code
}

// Defaults of the fields of Config.
const (
	DefaultStack    = 16 << 20 // some ten thousand frames of Go code, or a hundred thousand small ones
	DefaultTableMax = 1 << 18  // 2 MiB, which one instruction can move in much less than a millisecond
)

// DefaultConfig returns the limits for modules of plugins.
func DefaultConfig() Config {
	return Config{
		Bounds: wasm.Bounds{
			Types:     10_000,
			Arity:     1_000,
			Values:    100_000, // Go modules have 20 types of 100 values
			Imports:   1_000,
			Functions: 200_000,
			Tables:    16,
			Globals:   2_000,
			Exports:   20_000,
			Elements:  20_000,
			Items:     DefaultTableMax, // an element takes 12 bytes in the module, and 8 bytes in each instance
			Data:      200_000,         // the Go linker writes ten data segments for each kilobyte of a module
			Body:      2 << 20,
			Locals:    20_000,
			Name:      10_000,
			Names:     2 << 20,
		},
		Stack:      DefaultStack,
		TableMax:   DefaultTableMax,
		MaxModule:  64 << 20,
		MaxNesting: 5_000, // the Go compiler nests a block for each resume point of a function, and functions have hundreds of these
		MaxLabels:  40_000,

		// Of the functions of six Go modules, the largest has 4,750 control instructions, 93,000 block arguments, 0.3 s of work and 0.6 MB of
		// code.
		MaxControl:      30_000,
		MaxBlockArgs:    4_000_000,
		MaxBlockArgsSum: 100_000_000,
		MaxWork:         20_000_000_000,
		MaxWorkSum:      100_000_000_000,
		MaxCode:         8 << 20,   // compiling takes about sixty times as much memory
		MaxCodeSum:      256 << 20, // the estimate for a Go module of 8 MB is 62 MB
	}
}

// Quantum is the recommended amount of fuel to grant at a time. A module uses it up in several microseconds of typical work. The slowest
// work, loads that miss every cache, takes at most five milliseconds (see BenchmarkStalls). A larger amount makes modules hardly
// faster.
const Quantum = 25_000
