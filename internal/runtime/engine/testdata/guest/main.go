// Guest is the module of the engine's tests. Each tool exercises one behaviour.
package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

var inInit error

var held [][]byte

func init() {
	inInit = sdk.HostCall("test/echo", "early", nil)
	p := sdk.New()
	sdk.HandleTool(p, "echo", func(_ context.Context, arguments json.RawMessage) (*sdk.ToolResult, error) {
		return sdk.Text(string(arguments)), nil
	})
	sdk.HandleTool(p, "panic", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		panic("out of tea")
	})
	sdk.HandleTool(p, "exit", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	sdk.HandleTool(p, "sleep", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		time.Sleep(time.Hour)
		return sdk.Text("slept"), nil
	})
	sdk.HandleTool(p, "big", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		return sdk.Text(strings.Repeat("x", 1<<20)), nil
	})
	sdk.HandleTool(p, "grow", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		for {
			held = append(held, make([]byte, 1<<20))
		}
	})
	sdk.HandleTool(p, "spin", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		for i := 0; ; i++ {
			spun += i
		}
	})
	sdk.HandleTool(p, "count", func(_ context.Context, n struct{ To int }) (*sdk.ToolResult, error) {
		for i := range n.To {
			spun += i
		}
		return sdk.Text("counted"), nil
	})
	sdk.HandleTool(p, "remember", remember)
	sdk.HandleTool(p, "flood", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		for {
			fmt.Println(strings.Repeat("x", 1000))
		}
	})
	sdk.HandleTool(p, "ask", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		for {
			_ = sdk.HostCall("test/echo", 1, nil)
		}
	})
	sdk.HandleTool(p, "ask_once", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		return nil, sdk.HostCall("test/echo", 1, nil)
	})
	sdk.HandleTool(p, "leave", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		f, err := os.Open(os.Getenv("PWD"))
		if err != nil {
			return nil, err
		}
		left = f
		return sdk.Text(fmt.Sprint(f.Fd())), nil
	})
	sdk.HandleTool(p, "say", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		sdk.Log(sdk.LevelDebug, "logged\x1b[31m")
		fmt.Println("printed")
		fmt.Fprint(os.Stderr, "said without end")
		return sdk.Text("ok"), nil
	})
	sdk.HandleTool(p, "facts", facts)
	sdk.HandleTool(p, "initialize", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		return nil, inInit
	})
	sdk.HandleTool(p, "parallel", parallel)
	sdk.HandleTool(p, "read_root", readRoot)
	sdk.HandleTool(p, "probe", probe)
	sdk.Serve(p)
}

func main() {}

var (
	spun  int
	calls int
	left  *os.File
)

// remember stores the secret in initial and in grown memory, and reports the state left by earlier calls.
func remember(_ context.Context, secret struct{ Text string }) (*sdk.ToolResult, error) {
	calls++
	found := fmt.Sprint(calls, len(held))
	held = append(held, []byte(strings.Repeat(secret.Text, 1+(8<<20)/max(1, len(secret.Text)))))
	return sdk.Text(found), nil
}

// facts reports time, random numbers, environment, zone and deadline.
func facts(ctx context.Context, _ struct{}) (*sdk.ToolResult, error) {
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	_, offset := time.Date(2026, 7, 1, 12, 0, 0, 0, time.Local).Zone()
	deadline, limited := ctx.Deadline()
	return &sdk.ToolResult{StructuredContent: map[string]any{
		"now":      time.Now().UnixMilli(),
		"random":   hex.EncodeToString(random),
		"env":      os.Environ(),
		"offset":   offset,
		"deadline": deadline.UnixMilli(),
		"limited":  limited,
	}}, nil
}

// parallel performs host operations from many goroutines. Each must get its own result.
func parallel(context.Context, struct{}) (*sdk.ToolResult, error) {
	var wait sync.WaitGroup
	faults := make(chan string, 1000)
	for g := range 50 {
		wait.Go(func() {
			for i := range 20 {
				want := strings.Repeat(fmt.Sprintf("%d-%d ", g, i), g+1)
				var got string
				if err := sdk.HostCall("test/echo", want, &got); err != nil || got != want {
					faults <- fmt.Sprintf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
	wait.Wait()
	if len(faults) > 0 {
		return nil, &sdk.Error{Code: abi.CodeInternal, Message: <-faults}
	}
	return sdk.Text("ok"), nil
}
