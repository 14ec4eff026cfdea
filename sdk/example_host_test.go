package sdk_test

import (
	"context"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

// withHost sets a host that prints what handlers request of it.
func withHost() func() {
	imports.SetHost(&imports.Host{
		Call: func(request []byte) []byte {
			fmt.Println("host:", string(request))
			return []byte(`{"result":null}`)
		},
		Log: func(_ int32, line string) { fmt.Println("log:", line) },
	})
	return func() { imports.SetHost(nil) }
}

// Progress reaches the client if it has sent a token.
func ExampleProgress() {
	defer withHost()()
	p := sdk.New()
	sdk.HandleTool(p, "notes_import", func(ctx context.Context, _ struct{}) (*sdk.ToolResult, error) {
		for i := range 2 {
			if err := sdk.Progress(ctx, float64(i+1), 2, ""); err != nil {
				return nil, err
			}
		}
		return sdk.Text("imported"), nil
	})
	show(p, abi.MethodToolsCall, `{"name":"notes_import","_meta":{"progressToken":"t1"}}`)
	// Output:
	// host: {"op":"notify","params":{"method":"notifications/progress","params":{"progressToken":"t1","progress":1,"total":2}}}
	// host: {"op":"notify","params":{"method":"notifications/progress","params":{"progressToken":"t1","progress":2,"total":2}}}
	// {"result":{"content":[{"type":"text","text":"imported"}]}}
}

// A call that changes notes tells the clients that have subscribed to the resource, and those that have listed resources.
func ExampleResourceUpdated() {
	defer withHost()()
	if err := sdk.ResourceUpdated("notes://note/n7"); err != nil {
		fmt.Println(err)
	}
	if err := sdk.ResourcesChanged(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// host: {"op":"notify","params":{"method":"notifications/resources/updated","params":{"uri":"notes://note/n7"}}}
	// host: {"op":"notify","params":{"method":"notifications/resources/list_changed","params":{}}}
}

// Log writes to the host's log, which the operator reads, and Message to the client's.
func ExampleLog() {
	defer withHost()()
	sdk.Log(sdk.LevelWarn, "skipped %d notes", 3)
	if err := sdk.Message("warning", "notes", "3 notes could not be read"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// log: skipped 3 notes
	// host: {"op":"notify","params":{"method":"notifications/message","params":{"level":"warning","logger":"notes","data":"3 notes could not be read"}}}
}

// A lock keeps other calls and processes from doing the same until the call ends.
func ExampleLock() {
	defer withHost()()
	if err := sdk.Lock("import"); err != nil {
		fmt.Println(err)
	}
	// Output: host: {"op":"lock","params":{"name":"import"}}
}

// Elicit asks the user. The call ends with ErrAsking, and is made again with the answer.
func ExampleElicit() {
	p := sdk.New()
	sdk.HandleTool(p, "notes_remove", func(ctx context.Context, _ struct{}) (*sdk.ToolResult, error) {
		answer, err := sdk.Elicit(ctx, "sure", sdk.Form{Message: "Remove all notes?", Schema: map[string]any{"type": "object", "properties": map[string]any{}}})
		if err != nil {
			return nil, err
		}
		if !answer.Accepted() {
			return sdk.Text("nothing was removed"), nil
		}
		return sdk.Text("removed"), nil
	})
	const call = `{"method":"tools/call","params":{"name":"notes_remove"},"client":{"elicitation":{"form":{}}}`
	fmt.Println(string(p.Dispatch([]byte(call + "}"))))
	fmt.Println(string(p.Dispatch([]byte(call + `,"answers":{"sure":{"action":"decline"}}}`))))
	// Output:
	// {"ask":{"requests":{"sure":{"method":"elicitation/create","params":{"mode":"form","message":"Remove all notes?","requestedSchema":{"properties":{},"type":"object"}}}}}}
	// {"result":{"content":[{"type":"text","text":"nothing was removed"}]}}
}
