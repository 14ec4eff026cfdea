// Package meter rewrites WebAssembly modules so that a host can stop them, bound them and put them back.
//
// A module that a runtime has compiled runs until it returns: nothing in Go can interrupt it, and while it runs
// in a loop, the garbage collector and so the whole process waits. [Rewrite] adds what is missing to the module
// itself. A counter, the fuel, goes down by what the module does, and below zero the module calls the host,
// which lets others run, and refills the counter or ends the module. A second counter bounds how deep calls
// nest. Tables get a maximum. The state that a host can put back is exported, and what it cannot is reported.
//
// The package knows bytes, and no runtime. It checks no types: whoever compiles the result does. What it
// writes for a valid module is valid, and computes the same. It does not speak for code outside the module: a
// host charges its own work to the same counter.
//
// plan.go tells how charges are placed, and why no path goes round them.
package meter

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/engine/meter/wasm"
)

// The names that a rewritten module shares with its host. A module that uses them itself is refused.
const (
	// ImportModule and ImportYield name the function of no parameters and no results that a rewritten module
	// calls when ExportFuel is below zero. It may return once it has refilled the counter. If it does not
	// refill it, it is called again at the next check.
	ImportModule = "bulkhead:meter"
	ImportYield  = "yield"

	reserved = "bulkhead:"

	// ExportFuel is a mutable i64: what the module may still do before it calls ImportYield. It is zero in a
	// new instance, whose start function thus calls ImportYield before anything else that counts.
	ExportFuel = reserved + "fuel"

	// ExportStack is a mutable i64: how many bytes of native stack calls may still take, by an estimate.
	// Config.Stack is its value in a new instance, and whenever no call is in progress. A module that takes
	// it below zero ends with the trap unreachable and leaves it there: so a host that meets a trap and finds
	// it below zero knows that calls nested too deep. After any trap it is of no further use, like the rest of
	// the instance.
	ExportStack = reserved + "stack"

	// exportGlobal is followed by the index of the global in the original module.
	exportGlobal = reserved + "g"
)

// Result is a rewritten module and what a host must know to run it.
type Result struct {
	Module []byte

	// Globals are the mutable globals that the module defines, in the order of their indices, but for those
	// whose value a host cannot hold: v128, funcref and externref. They do not hold the two counters.
	Globals []Global

	// The rest says what else of an instance's state there is. If all of it is false, then the linear memory
	// and Globals are the whole state of the instance. All of it is judged by what the code contains, not by
	// what is reached.

	// ChangesTables says that it contains an instruction that writes to a table: table.set, table.fill,
	// table.copy, table.init or table.grow.
	ChangesTables bool
	// DropsSegments says that it contains data.drop or elem.drop.
	DropsSegments bool
	// UnrestorableGlobals says that it writes to a global of type v128, funcref or externref.
	UnrestorableGlobals bool
	// ImportsState says that it imports a memory, a table or a mutable global: state that others share.
	ImportsState bool
}

// Global is a mutable global of the original module.
type Global struct {
	Export string         // its name among the exports of the rewritten module
	Type   wasm.ValueType // I32, I64, F32 or F64
}

// Restorable tells whether putting back the linear memory and Globals puts back the whole state.
func (r *Result) Restorable() bool {
	return !r.ChangesTables && !r.DropsSegments && !r.UnrestorableGlobals && !r.ImportsState
}

// Rewrite adds metering to a module. The same module and config always give the same bytes. A module that is
// malformed, uses what is not in WebAssembly 2.0, or uses the reserved names, is an error that wraps
// *wasm.FormatError or says which name; one that is too large wraps *wasm.LimitError.
func Rewrite(module []byte, c Config) (Result, error) {
	c = c.withDefaults()
	if len(module) > c.MaxModule {
		return Result{}, &wasm.LimitError{What: "bytes of a module", Have: uint64(len(module)), Limit: uint64(c.MaxModule)}
	}
	m, err := wasm.Decode(module, c.bounds())
	if err != nil {
		return Result{}, err
	}
	if err := checkNames(m); err != nil {
		return Result{}, err
	}
	w := newRewriter(m, c)
	if err := w.survey(); err != nil {
		return Result{}, err
	}
	out, err := w.module()
	if err != nil {
		return Result{}, err
	}
	w.result.Module = out
	return w.result, nil
}

// checkNames keeps a module from reading or setting the counters, and from calling the host in their name.
func checkNames(m *wasm.Module) error {
	for _, i := range m.Imports {
		if i.Module == ImportModule {
			return fmt.Errorf("the module imports from %q, which is reserved", ImportModule)
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, reserved) {
			return fmt.Errorf("the module exports %q, and names that begin with %q are reserved", e.Name, reserved)
		}
	}
	return nil
}
