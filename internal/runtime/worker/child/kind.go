package child

import (
	"context"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/extism"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// requester sends a request of the host to the module, as engine.Module.Call does, and returns the response of ABI 1. It connects the
// engine, which does not know MCP, to the package that converts the requests and responses of a kind, which does not know the engine.
// The module is untrusted, so limits.input and limits.output must bound the conversion.
//
// As with Call, the error is an *engine.Error, and the Held must be released if there is no error. An error for the client is a
// response of ABI 1. For modules that cannot describe themselves, the requester answers abi.MethodDescribe from the manifest.
type requester func(context.Context, engine.Prepared) (engine.Held, error)

// newRequester returns the requester of the module's kind.
func newRequester(setup wire.Setup, module *engine.Module) (requester, error) {
	switch kind := engine.Kind(setup.Kind); kind {
	case "", engine.ABI1, engine.Script:
		return module.Call, nil
	case engine.Extism:
		return extismRequester(module)
	case engine.Command:
		return commandRequester(setup, module), nil
	default:
		return nil, fmt.Errorf("no requests can be sent to a module of the kind %q", kind)
	}
}

// extismRequester returns the requester of a plugin of hyper-mcp.
func extismRequester(module *engine.Module) (requester, error) {
	version, err := extism.Detect(module.Exports)
	if err != nil {
		return nil, err
	}
	exported := map[string]bool{}
	for _, name := range version.Exports() {
		exported[name] = module.Exports(name)
	}
	plugin := extism.Plugin{Version: version, Exports: func(name string) bool { return exported[name] }}
	return func(ctx context.Context, r engine.Prepared) (engine.Held, error) {
		t := extism.Translate(plugin, *r.Request)
		if t.Export == "" {
			return engine.Held{Result: call.Result{Body: t.Answer}}, nil
		}
		r.Extism = t
		return module.Call(ctx, r)
	}, nil
}
