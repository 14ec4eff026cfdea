package child

import (
	"context"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/worker/wire"
)

// requester sends a request of the host to the module, as engine.Module.Call does, and returns the response of ABI 1. It joins the
// engine, which runs modules of all kinds, and the package that converts the requests and responses of a kind: such a package knows
// MCP and no runtime, and the engine knows no MCP. The conversion is work on behalf of an untrusted module: it has to be bounded by
// limits.input and limits.output.
//
// Like those of Call, its errors are *engine.Error, and the Response must be released if there is no error. An error that the client
// shall get is a response of ABI 1. Of abi.MethodDescribe, a requester whose modules cannot describe themselves returns what the
// manifest says.
type requester func(context.Context, engine.Request) (engine.Response, error)

// newRequester returns the requester of the module's kind.
func newRequester(setup wire.Setup, module *engine.Module) (requester, error) {
	switch kind := engine.Kind(setup.Kind); kind {
	case "", engine.ABI1:
		return module.Call, nil
	default:
		return nil, fmt.Errorf("no requests can be sent to a module of the kind %q", kind)
	}
}
