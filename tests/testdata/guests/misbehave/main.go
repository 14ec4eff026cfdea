// Misbehave is a plugin that crashes, exits, hangs and floods on demand.
package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

type none struct{}

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "misbehave_ok", func(context.Context, none) (*sdk.ToolResult, error) { return sdk.Text("ok"), nil })
	sdk.HandleTool(p, "misbehave_panic", func(context.Context, none) (*sdk.ToolResult, error) { panic("out of tea") })
	sdk.HandleTool(p, "misbehave_exit", func(context.Context, none) (*sdk.ToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	sdk.HandleTool(p, "misbehave_big", func(_ context.Context, a struct{ Bytes int }) (*sdk.ToolResult, error) {
		return sdk.Text(strings.Repeat("x", a.Bytes)), nil
	})
	sdk.HandleTool(p, "misbehave_spin", spin)
	sdk.HandleTool(p, "misbehave_sleep", sleep)
	sdk.HandleTool(p, "misbehave_rendezvous", rendezvous)
	sdk.Serve(p)
}

func main() {}

var rounds int

func spin(ctx context.Context, _ none) (*sdk.ToolResult, error) {
	if err := sdk.Progress(ctx, 1, 2, "spinning"); err != nil {
		return nil, err
	}
	for {
		rounds++ // makes no host call
	}
}

func sleep(ctx context.Context, a struct{ MS int }) (*sdk.ToolResult, error) {
	if err := sdk.Progress(ctx, 1, 2, "asleep"); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(a.MS) * time.Millisecond)
	return sdk.Text("awake"), nil
}

// rendezvous returns once Size calls of the same group are in it at the same time.
func rendezvous(ctx context.Context, a struct {
	Group string
	Size  int
}) (*sdk.ToolResult, error) {
	dir := filepath.Join(os.Getenv("BULKHEAD_STATE"), filepath.Base(a.Group))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, "")
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	for ctx.Err() == nil {
		present, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		if len(present) >= a.Size {
			return sdk.Text("met"), nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil, errors.New("cancelled before all calls arrived")
}
