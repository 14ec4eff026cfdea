package main

import (
	"context"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// pause is the time between the notifications of a call, so that a client can see that they arrive before the result.
const pause = 50 * time.Millisecond

// watched is the resource that clients can subscribe to.
const watched = "test://watched-resource"

// Lines of the log by which a plugin asks the host of tests/conformance for what a plugin cannot cause.
const (
	askToolChange  = "conformance: change the list of tools"
	askCloseStream = "conformance: close the stream"
)

func registerNotifications(p *sdk.Plugin) {
	sdk.HandleTool(p, "test_tool_with_logging", logThrice)
	sdk.HandleTool(p, "test_logging_tool", func(context.Context, none) (*sdk.ToolResult, error) {
		return sdk.Text("A log message was sent."), sdk.Message("info", "everything", "test_logging_tool runs")
	})
	sdk.HandleTool(p, "test_tool_with_progress", progress)
	sdk.HandleTool(p, "test_trigger_prompt_change", func(context.Context, none) (*sdk.ToolResult, error) {
		return sdk.Text("Clients are notified that the list of prompts has changed."), sdk.PromptsChanged()
	})
	sdk.HandleTool(p, "test_trigger_resource_update", func(context.Context, none) (*sdk.ToolResult, error) {
		return sdk.Text("Subscribed clients are notified that " + watched + " has changed."), sdk.ResourceUpdated(watched)
	})
	sdk.HandleTool(p, "test_trigger_tool_change", func(context.Context, none) (*sdk.ToolResult, error) {
		sdk.Log(sdk.LevelInfo, askToolChange)
		return sdk.Text("The host was asked to change the list of tools."), nil
	})
	sdk.HandleTool(p, "test_reconnection", reconnect)
}

func reconnect(context.Context, none) (*sdk.ToolResult, error) {
	// The message has the response begin as a stream, which can be closed.
	if err := sdk.Message("info", "everything", "the stream is about to be closed"); err != nil {
		return nil, err
	}
	sdk.Log(sdk.LevelInfo, askCloseStream)
	time.Sleep(10 * pause) // the client connects again
	return sdk.Text("The call went on after its stream was closed."), nil
}

func logThrice(context.Context, none) (*sdk.ToolResult, error) {
	for i, text := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
		if i > 0 {
			time.Sleep(pause)
		}
		if err := sdk.Message("info", "everything", text); err != nil {
			return nil, err
		}
	}
	return sdk.Text("Three log messages were sent."), nil
}

func progress(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	for done := 0.0; done <= 100; done += 50 {
		if done > 0 {
			time.Sleep(pause)
		}
		if err := sdk.Progress(ctx, done, 100, ""); err != nil {
			return nil, err
		}
	}
	return sdk.Text("Three progress notifications were sent, if the request had a progress token."), nil
}
