package child

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// commandModule is the part of engine.Module that runs a command.
type commandModule interface {
	CheckInput(size int) error
	Call(context.Context, engine.Prepared) (engine.Held, error)
	OutputError() error
}

// commandRequester returns the requester of a command. It calls Prepared.Busy, which must not be nil.
func commandRequester(setup wire.Setup, module commandModule) requester {
	return func(ctx context.Context, r engine.Prepared) (engine.Held, error) {
		switch r.Method {
		case abi.MethodToolsCall:
		case abi.MethodDescribe:
			return engine.Held{Result: call.Result{Body: setup.Commands.Describe()}}, nil
		default:
			return engine.Held{Result: call.Result{Body: command.NoMethod()}}, nil
		}
		if err := module.CheckInput(len(r.Params)); err != nil {
			return engine.Held{}, err
		}
		if len(r.Params) > largeAnswer { // converting large parameters takes long
			r.Busy()
		}
		tool, input, refusal := setup.Commands.Input(r.Params)
		if refusal != nil {
			return engine.Held{Result: call.Result{Body: refusal}}, nil
		}
		response, err := module.Call(ctx, engine.Prepared{Request: r.Request, Args: input.Args, Stdin: input.Stdin, Busy: r.Busy})
		if err != nil {
			return response, err
		}
		if len(response.Body) > largeAnswer {
			r.Busy()
		}
		body := tool.Response(command.Output{Stdout: response.Body, Stderr: response.Stderr, Exit: response.Exit}, setup.Limits.Output)
		if body == nil {
			response.Release()
			return engine.Held{Result: call.Result{Fuel: response.Fuel}}, module.OutputError()
		}
		response.Body = body
		return response, nil
	}
}
