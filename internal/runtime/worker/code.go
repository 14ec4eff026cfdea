package worker

import (
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine/code"
)

// tryAgain ends the messages of failures that have nothing to do with the module and the call.
const tryAgain = ": try again"

// CodeError converts an error of a code.Store to the error that Config.Prepare returns. file is the plugin's module.
func CodeError(plugin, file string, err error) error {
	refused := (*code.Error)(nil)
	if !errors.As(err, &refused) {
		return err // the error of a context
	}
	text := visible.Bounded(refused.Text, 500)
	failure := &engine.Error{Code: engine.CodeInternal, Plugin: plugin, Message: "cannot run: " + text, Err: err}
	switch refused.Reason {
	case code.Interrupted:
		failure.Code, failure.Message = engine.CodeQueue, failure.Message+tryAgain
	case code.Missing:
		failure.Code = engine.CodeModuleMissing
	case code.Digest:
		failure.Code = engine.CodeDigest
	case code.Invalid:
		failure.Code, failure.Message = engine.CodeInvalidModule, fmt.Sprintf("cannot run %s: %s", file, text)
	}
	return failure
}
