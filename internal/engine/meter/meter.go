// Package meter rewrites WebAssembly modules so that a host can interrupt them, limit them and restore their state.
//
// The Go runtime cannot preempt compiled WebAssembly code: while it loops, a garbage collection, and with it the whole
// process, waits. [Rewrite] therefore instruments the module itself. Instructions are charged to a counter, the fuel. When
// it is below zero the module calls the host, which lets other goroutines run, and refills the counter or aborts the module.
// A second counter limits the depth of calls. Tables get a maximum size. Restorable state is exported; other state is
// reported. Forward jumps of the Go compiler are shortened (see dispatch.go).
//
// The package does not depend on a runtime. It does not type-check modules, because compiling the result does. The result
// for a valid module is valid and behaves identically. Work outside the module is not metered; the host charges it to the
// same counter.
//
// plan.go explains how charges are placed and why no path bypasses them.
package meter

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/engine/meter/wasm"
)

// Names of the interface between a rewritten module and its host. A module that already uses them is refused.
const (
	// ImportModule and ImportYield name a function without parameters and results that a rewritten module calls when
	// ExportFuel is below zero. It should refill the counter before it returns; otherwise the next check calls it again.
	ImportModule = "bulkhead:meter"
	ImportYield  = "yield"

	reserved = "bulkhead:"

	// ExportFuel is a mutable i64, the fuel left until the module calls ImportYield. It is zero in a new instance, so a
	// start function calls ImportYield at its first charge.
	ExportFuel = reserved + "fuel"

	// ExportStack is a mutable i64, an estimate of the bytes of native stack left. Its value is Config.Stack in a new
	// instance and whenever no call is in progress. When it drops below zero, the module traps with unreachable and
	// leaves the value negative, so a negative value after a trap means a stack overflow. After any trap the counter,
	// like the whole instance, must not be used further.
	ExportStack = reserved + "stack"

	// exportGlobal is the prefix of exported globals. The index of the global in the original module follows.
	exportGlobal = reserved + "g"
)

// Result is a rewritten module and the properties that a host needs to run it.
type Result struct {
	Module []byte

	// Globals are the mutable globals that the module defines, ordered by index, without the two counters and without
	// globals whose values a host cannot represent (v128, funcref, externref).
	Globals []Global

	// The fields below report other state of an instance. If all are false, the linear memory and Globals are its whole
	// state. They are conservative: unreachable code counts.

	// ChangesTables: the code contains table.set, table.fill, table.copy, table.init or table.grow.
	ChangesTables bool
	// DropsSegments: the code contains data.drop or elem.drop.
	DropsSegments bool
	// UnrestorableGlobals: the code sets a global of type v128, funcref or externref.
	UnrestorableGlobals bool
	// ImportsState: the module imports a memory, a table or a mutable global.
	ImportsState bool
}

// Global is a mutable global of the original module.
type Global struct {
	Export string         // its export name in the rewritten module
	Type   wasm.ValueType // I32, I64, F32 or F64
}

// Restorable reports whether restoring the linear memory and Globals restores the whole state of an instance.
func (r *Result) Restorable() bool {
	return !r.ChangesTables && !r.DropsSegments && !r.UnrestorableGlobals && !r.ImportsState
}

// Rewrite adds metering to a module. It is deterministic. The error wraps *wasm.FormatError if the module is malformed
// or uses features outside WebAssembly 2.0, and *wasm.LimitError if the module exceeds a limit. A module that uses a
// reserved name is also an error.
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
	if err := w.analyze(); err != nil {
		return Result{}, err
	}
	out, err := w.module()
	if err != nil {
		return Result{}, err
	}
	w.result.Module = out
	return w.result, nil
}

// checkNames refuses reserved names, so that a module can neither replace the counters nor import the yield function.
func checkNames(m *wasm.Module) error {
	for _, i := range m.Imports {
		if i.Module == ImportModule {
			return fmt.Errorf("the module imports from %q, which is reserved: remove the import", ImportModule)
		}
	}
	for _, e := range m.Exports {
		if strings.HasPrefix(e.Name, reserved) {
			return fmt.Errorf("the module exports %q, but names that begin with %q are reserved: rename the export", e.Name, reserved)
		}
	}
	return nil
}
