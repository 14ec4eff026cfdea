package main

import (
	"context"
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// deleteSchema is the schema of a form that asks for a confirmation.
const deleteSchema = `{"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]}`

// registerTasks registers the tools whose calls the host runs as tasks, as plugin.toml says. Nothing here depends on that.
func registerTasks(p *sdk.Plugin) {
	sdk.HandleTool(p, "greet", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (*sdk.ToolResult, error) {
		return sdk.Text("Hello, " + in.Name + "!"), nil
	})
	sdk.HandleTool(p, "slow_compute", slowCompute)
	sdk.HandleTool(p, "failing_job", func(context.Context, none) (*sdk.ToolResult, error) {
		time.Sleep(time.Second)
		return nil, fmt.Errorf("the job failed")
	})
	sdk.HandleTool(p, "protocol_error_job", func(context.Context, none) (*sdk.ToolResult, error) {
		return nil, &sdk.Error{Code: abi.CodeInternal, Message: "the job had an internal error"}
	})
	sdk.HandleTool(p, "confirm_delete", confirmDelete)
	sdk.HandleTool(p, "multi_input", multiInput)
	sdk.HandleTool(p, "test_tool_with_task", greetUser)
}

func slowCompute(ctx context.Context, in struct {
	Seconds float64 `json:"seconds"`
	Label   string  `json:"label"`
}) (*sdk.ToolResult, error) {
	end := time.Now().Add(time.Duration(in.Seconds * float64(time.Second)))
	for left := time.Until(end); left > 0; left = time.Until(end) {
		if err := sdk.Progress(ctx, in.Seconds-left.Seconds(), in.Seconds, "computing "+in.Label); err != nil {
			return nil, err
		}
		time.Sleep(min(left, time.Second))
	}
	return sdk.Text(fmt.Sprintf("Computed %s for %g seconds", in.Label, in.Seconds)), nil
}

func confirmDelete(ctx context.Context, in struct {
	Filename string `json:"filename"`
}) (*sdk.ToolResult, error) {
	answer, err := sdk.Elicit(ctx, "confirm", form("Delete "+in.Filename+"?", deleteSchema))
	if err != nil {
		return nil, err
	}
	confirmed, ok, err := entered[bool](answer, "confirm")
	if err != nil || !ok {
		return refused(), err
	}
	return sdk.Text(fmt.Sprintf("%s: confirmed: %t", in.Filename, confirmed)), nil
}

func multiInput(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	answers, err := sdk.Ask(ctx, map[string]sdk.Question{
		"user_name": form("What is your name?", nameSchema),
		"confirm":   form("Do you want to continue?", deleteSchema),
	})
	if err != nil {
		return nil, err
	}
	name, err := answers.Form("user_name")
	if err != nil {
		return nil, err
	}
	confirm, err := answers.Form("confirm")
	if err != nil {
		return nil, err
	}
	return sdk.Text(fmt.Sprintf("name: %s, confirm: %s", name.Action, confirm.Action)), nil
}
