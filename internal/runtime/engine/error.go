package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Code is a machine-readable reason for a failed call.
type Code string

// The codes of an Error.
const (
	CodeModuleMissing   Code = "module_missing"      // the module's file does not exist or cannot be read
	CodeDigest          Code = "digest_mismatch"     // the file does not have the digest that the manifest pins
	CodeInvalidModule   Code = "invalid_module"      // the module is malformed, too large, or does not implement the ABI
	CodeTrap            Code = "trap"                // the module trapped
	CodeExit            Code = "exit"                // the module exited
	CodeTimeout         Code = "timeout"             // the call exceeded its time limit
	CodeFuel            Code = "fuel"                // the call exceeded its instruction limit
	CodeMemory          Code = "memory"              // the module crashed after memory growth was refused
	CodeStack           Code = "stack_overflow"      // the module's calls nested too deep
	CodeQueue           Code = "busy"                // no slot to run the call became free in time, or its process was ended while it started
	CodeReplaced        Code = "replaced"            // the grant of the plugin changed while the call waited
	CodeCanceled        Code = "canceled"            // the caller cancelled the call
	CodeNoResponse      Code = "no_response"         // the module returned without a response
	CodeInputSize       Code = "input_too_large"     // the request exceeds its limit
	CodeOutputSize      Code = "output_too_large"    // the response exceeds its limit
	CodeOperations      Code = "too_many_operations" // the call performed too many host operations
	CodeLogSize         Code = "log_too_large"       // the call logged too much
	CodeMisuse          Code = "abi_misuse"          // the module violated the ABI
	CodeInvalidResponse Code = "invalid_response"    // the response is not an abi.Response
	CodeInvalidResult   Code = "invalid_result"      // the result violates MCP or the tool's output schema
	CodeStale           Code = "code_stale"          // the compiled code is for another processor or another version
	CodeWorkerLost      Code = "worker_lost"         // the worker process of the call ended
	CodeInternal        Code = "internal"            // a bug or a failure of the host
)

// OfModule reports whether a worker process may report the code. The other codes are used by the host process only.
func (c Code) OfModule() bool {
	switch c {
	case CodeInvalidModule, CodeTrap, CodeExit, CodeTimeout, CodeFuel, CodeMemory, CodeStack, CodeCanceled, CodeNoResponse, CodeInputSize,
		CodeOutputSize, CodeOperations, CodeLogSize, CodeMisuse, CodeStale, CodeInternal, CodeInvalidResponse, CodeInvalidResult:
		return true
	}
	return false
}

// IsLimit reports whether a limit causes failures with the code.
func (c Code) IsLimit() bool {
	switch c {
	case CodeTimeout, CodeFuel, CodeMemory, CodeStack, CodeQueue, CodeInputSize, CodeOutputSize, CodeOperations, CodeLogSize:
		return true
	}
	return false
}

// Error is a failed call, as opposed to an error response of the plugin. The next call may succeed.
type Error struct {
	Code   Code
	Plugin string
	// Message is a one-line predicate for the caller, such as "ran past its time limit of 30s"; the subject is the tool
	// or plugin. It contains no output of the module.
	Message string
	// Detail is for the log: a stack trace, or the module's output.
	Detail string
	// Panic is the text of the panic that ended a module, in one line; empty if the module printed nothing. It is output of the module,
	// so it is for the log, and for the module's author.
	Panic string
	// Printed are the lines that a script had printed, for its client only.
	Printed []string
	Err     error // cause; may be nil
}

func (e *Error) Error() string {
	return fmt.Sprintf("plugin %q %s", e.Plugin, e.Message)
}

func (e *Error) Unwrap() error { return e.Err }

func (m *Module) errorf(code Code, err error, format string, args ...any) *Error {
	return &Error{Code: code, Plugin: m.spec.Name, Message: fmt.Sprintf(format, args...), Err: err}
}

// callError converts the error of a guest call.
func (m *Module) callError(ctx context.Context, err error, c *execution, i *instance) *Error {
	if c.aborted != nil {
		return c.aborted
	}
	if stopped := m.contextError(ctx); stopped != nil {
		return stopped
	}
	if i.memory != nil && i.memory.growRefused {
		return m.errorf(CodeMemory, err, "crashed: it needed more memory than %s", i.memory.bound())
	}
	if exit := (*sys.ExitError)(nil); errors.As(err, &exit) {
		failure := m.errorf(CodeExit, err, "exited with code %d", exit.ExitCode())
		failure.Panic = i.panicked.text()
		return failure
	}
	if i.stack != nil && int64(i.stack.Get()) < 0 {
		return m.errorf(CodeStack, err, "crashed: stack overflow")
	}
	// The first line of wazero's error is the reason. The stack trace below it contains names from the module.
	reason, stack, _ := strings.Cut(err.Error(), "\n")
	failure := m.errorf(CodeTrap, err, "crashed: %s", strings.TrimSuffix(visible.Bounded(reason, 200), " (recovered by wazero)"))
	failure.Detail, failure.Panic = visible.Bounded(stack, 4<<10), i.panicked.text()
	return failure
}

// contextError returns why ctx ended, or nil.
func (m *Module) contextError(ctx context.Context) *Error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		after := m.spec.Time
		if l, ok := ctx.Value(limitedKey{}).(*limited); ok {
			after = l.after
		}
		return m.errorf(CodeTimeout, err, "ran past its time limit of %s", after)
	default:
		return m.errorf(CodeCanceled, err, "was cancelled")
	}
}
