// Probe is a plugin whose tools return each kind of result and error.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

type none struct{}

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "probe_env", env)
	sdk.HandleTool(p, "probe_say", say)
	sdk.HandleTool(p, "probe_picture", func(context.Context, none) (*sdk.ToolResult, error) {
		return &sdk.ToolResult{Content: []sdk.Content{sdk.TextContent{Text: "look:"}, sdk.ImageContent{Data: []byte{1}, MIMEType: "image/png"}}}, nil
	})
	sdk.HandleTool(p, "probe_fail", func(context.Context, none) (*sdk.ToolResult, error) { return nil, errors.New("it did not work") })
	sdk.HandleTool(p, "probe_refuse", func(context.Context, none) (*sdk.ToolResult, error) {
		return nil, &sdk.Error{Code: -32001, Message: "not like this"}
	})
	sdk.HandleTool(p, "probe_crash", func(context.Context, none) (*sdk.ToolResult, error) { panic("out of ideas") })
	sdk.HandleTool(p, "probe_write", func(context.Context, none) (*sdk.ToolResult, error) { return sdk.Text("written"), nil })
	sdk.Serve(p)
}

func main() {}

// env reports whether a variable is set, and only the length of its value.
func env(_ context.Context, a struct{ Name string }) (*sdk.ToolResult, error) {
	value, ok := os.LookupEnv(a.Name)
	if !ok {
		return sdk.Text(a.Name + " is not set"), nil
	}
	return sdk.Text(fmt.Sprintf("%s has %d bytes", a.Name, len(value))), nil
}

// say uses every kind of output.
func say(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	fmt.Println("printed to stdout")
	fmt.Fprintln(os.Stderr, "printed to stderr")
	sdk.Log(sdk.LevelDebug, "logged for the host")
	if err := sdk.Message("warning", "probe", "logged for the client"); err != nil {
		return nil, err
	}
	if err := sdk.Progress(ctx, 1, 2, "half way"); err != nil {
		return nil, err
	}
	return sdk.Text("said"), nil
}
