// Package meter rewrites WebAssembly modules so that a host can interrupt them, limit them and restore their state.
//
// The Go runtime cannot preempt compiled WebAssembly code. While such code loops, a garbage collection waits for it, and with it the whole
// process. [Rewrite] therefore instruments the module itself. A counter called fuel pays for instructions. If the fuel is below zero, the
// module calls the host. The host lets other goroutines run, and then either refills the counter or aborts the module. A second counter
// limits the depth of calls. Tables get a maximum size. State that a host can restore is exported, and other state is reported. Forward
// jumps of the Go compiler are shortened (see dispatch.go).
//
// The package does not depend on a runtime. It does not check the types of operands, because compiling the rewritten module does. If the
// original module is valid, the rewritten one is valid too and behaves identically. Work outside the module is not metered; the host
// charges that work to the same counter.
//
// The file plan.go explains where charges are placed, and why no path bypasses them.
package meter

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/meter/wasm"
)

// Names of the interface between a rewritten module and its host. Rewrite refuses a module that already uses one of them.
const (
	// ImportModule and ImportYield are the names of a function without parameters and results. A rewritten module calls that function when
	// ExportFuel is below zero. The function should refill the counter; otherwise the next check calls it again.
	ImportModule = "bulkhead:meter"
	ImportYield  = "yield"

	reserved = "bulkhead:"

	// ExportFuel is the name of a mutable i64 global: the fuel that is left until the module calls ImportYield. It is zero in a new
	// instance, so the first charge of a start function calls ImportYield.
	ExportFuel = reserved + "fuel"

	// ExportStack is the name of a mutable i64 global: an estimate of the bytes of native stack that are left. Its value is Config.Stack in a
	// new instance, and whenever no call is in progress. When it drops below zero, the module executes unreachable, which traps, and leaves
	// the value negative. A negative value after a trap therefore means a stack overflow. After any trap, the instance must not be used
	// further.
	ExportStack = reserved + "stack"

	// ExportErrno is the name of a mutable i64 global: the errno of WASI that a module gets instead of EIO. A host whose WASI library lacks
	// an errno sets it before a function of WASI returns EIO. It is EIO otherwise.
	ExportErrno = reserved + "errno"

	// exportGlobal is the prefix of the names of exported globals. The index of the global in the original module follows the prefix.
	exportGlobal = reserved + "g"
)

// Result is a rewritten module and the properties that a host needs to run it.
type Result struct {
	Module []byte

	// Globals are the mutable globals that the original module defines, ordered by index. Globals whose values a host cannot represent
	// (v128, funcref, externref) are missing.
	Globals []Global

	// The following fields report other state of an instance. If all of them are false, the linear memory and Globals are the whole state. A
	// field may be true needlessly, since unreachable code counts.

	// ChangesTables is set if the code contains table.set, table.fill, table.copy, table.init or table.grow.
	ChangesTables bool
	// DropsSegments is set if the code contains data.drop or elem.drop.
	DropsSegments bool
	// UnrestorableGlobals is set if the code sets a global of type v128, funcref or externref.
	UnrestorableGlobals bool
	// ImportsState is set if the module imports a memory, a table or a mutable global.
	ImportsState bool
}

// Global is a mutable global of the original module.
type Global struct {
	Export string         // name under which the rewritten module exports the global
	Type   wasm.ValueType // type of the global: I32, I64, F32 or F64
}

// Restorable reports whether a host restores the whole state of an instance by restoring its linear memory and Globals.
func (r *Result) Restorable() bool {
	return !r.ChangesTables && !r.DropsSegments && !r.UnrestorableGlobals && !r.ImportsState
}

// Rewrite adds metering to a module. It is deterministic. If the module is malformed or uses features outside of WebAssembly 2.0, the
// error wraps a *wasm.FormatError. If the module exceeds a limit, the error wraps a *wasm.LimitError. Rewrite also refuses a module that
// uses a reserved name.
func Rewrite(module []byte, c Config) (Result, error) {
	if len(module) > c.MaxModule {
		return Result{}, &wasm.LimitError{What: "bytes of a module", Have: uint64(len(module)), Limit: uint64(c.MaxModule)}
	}
	m, err := wasm.Decode(module, c.Bounds)
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

// checkNames refuses reserved names, so that a module can neither replace the counters nor import the function ImportYield.
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
