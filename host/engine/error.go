package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

// Code names why a call failed.
type Code string

// The codes of an Error.
const (
	CodeModuleMissing   Code = "module_missing"      // there is no such file, or it cannot be read
	CodeDigest          Code = "digest_mismatch"     // it is not the file that the manifest was built for
	CodeInvalidModule   Code = "invalid_module"      // not a module that this host can run
	CodeTrap            Code = "trap"                // the module crashed
	CodeExit            Code = "exit"                // the module ended itself
	CodeTimeout         Code = "timeout"             // past its time limit
	CodeFuel            Code = "fuel"                // past its limit of instructions
	CodeMemory          Code = "memory"              // it crashed after it was refused more memory
	CodeStack           Code = "stack_overflow"      // its calls nested too deep
	CodeQueue           Code = "busy"                // no place to run came free in time
	CodeCanceled        Code = "canceled"            // nobody waits for the answer any more
	CodeNoResponse      Code = "no_response"         // it returned without an answer
	CodeInputSize       Code = "input_too_large"     // the request is larger than allowed
	CodeOutputSize      Code = "output_too_large"    // its answer is larger than allowed
	CodeOperations      Code = "too_many_operations" // of the host's, in one call
	CodeLogSize         Code = "log_too_large"       // it wrote more to the log than allowed
	CodeMisuse          Code = "abi_misuse"          // it called the host in a way that the ABI forbids
	CodeInvalidResponse Code = "invalid_response"    // its answer is none of ABI 1
	CodeInvalidResult   Code = "invalid_result"      // no client could read its result, or it breaks its output schema
	CodeStale           Code = "code_stale"          // its compiled code is not for this program on this machine
	CodeWorkerLost      Code = "worker_lost"         // the process that the call ran in ended
	CodeInternal        Code = "internal"            // a fault of the host's own
)

// OfModule reports whether a process that runs modules fails with the code: others are the host's own.
func (c Code) OfModule() bool {
	switch c {
	case CodeInvalidModule, CodeTrap, CodeExit, CodeTimeout, CodeFuel, CodeMemory, CodeStack, CodeCanceled, CodeNoResponse, CodeInputSize,
		CodeOutputSize, CodeOperations, CodeLogSize, CodeMisuse, CodeStale, CodeInternal, CodeInvalidResponse, CodeInvalidResult:
		return true
	}
	return false
}

// Error is a failure of a module, not an answer of its plugin's. The next call may well work.
type Error struct {
	Code   Code
	Plugin string
	// Message says what happened in one line, for whoever called: a predicate, such as "ran past its time
	// limit of 30s", whose subject is the tool. It holds no text of the module's.
	Message string
	// Detail is for the log: a stack trace, or what the module itself said.
	Detail string
	Err    error // cause; nil if there is none beyond Message
}

func (e *Error) Error() string {
	return fmt.Sprintf("plugin %q %s", e.Plugin, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

func (m *Module) fail(code Code, err error, format string, args ...any) *Error {
	return &Error{Code: code, Plugin: m.spec.Name, Message: fmt.Sprintf(format, args...), Err: err}
}

// explain turns what wazero returned from a call into an Error.
func (m *Module) explain(ctx context.Context, err error, c *call, i *instance) *Error {
	if c.ended != nil {
		return c.ended
	}
	if stopped := m.stopped(ctx); stopped != nil {
		return stopped
	}
	if i.memory != nil && i.memory.refused {
		return m.fail(CodeMemory, err, "crashed, having needed more memory than its limit of %d MiB", m.spec.Memory>>20)
	}
	if exit := (*sys.ExitError)(nil); errors.As(err, &exit) {
		return m.fail(CodeExit, err, "ended itself with exit code %d", exit.ExitCode())
	}
	if i.stack != nil && int64(i.stack.Get()) < 0 {
		return m.fail(CodeStack, err, "crashed: its calls nest too deep")
	}
	// wazero's text is the reason in its first line and then the stack, whose names are the module's.
	reason, stack, _ := strings.Cut(err.Error(), "\n")
	failure := m.fail(CodeTrap, err, "crashed: %s", strings.TrimSuffix(visible.Bounded(reason, 200), " (recovered by wazero)"))
	failure.Detail = visible.Bounded(stack, 4<<10)
	return failure
}

// stopped says why ctx ended; nil if it did not.
func (m *Module) stopped(ctx context.Context) *Error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return m.fail(CodeTimeout, err, "ran past its time limit of %s", m.spec.Time)
	default:
		return m.fail(CodeCanceled, err, "was cancelled")
	}
}
