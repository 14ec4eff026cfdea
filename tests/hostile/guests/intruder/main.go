// Intruder is a plugin that performs one action per call and answers with the result. The tests in tests/hostile
// choose the actions and check the results.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// action is the argument of a call.
type action struct {
	Do     string          `json:"do"`
	Path   string          `json:"path"`
	To     string          `json:"to"`
	Op     string          `json:"op"`
	Params json.RawMessage `json:"params"`
	Count  int             `json:"count"`
}

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "intrude", func(_ context.Context, a action) (*sdk.ToolResult, error) {
		do, ok := actions[a.Do]
		if !ok {
			return nil, fmt.Errorf("unknown action %q", a.Do)
		}
		text, err := do(a)
		if err != nil {
			return sdk.ErrorText(reason(err)), nil
		}
		return sdk.Text(text), nil
	})
	sdk.Serve(p)
}

func main() {}

// actions maps the names of actions to their functions.
var actions = map[string]func(action) (string, error){
	"nothing": func(action) (string, error) { return "nothing", nil },
	"read":    read, "read raw": readRaw, "read often": readOften, "write": write, "write often": writeOften,
	"list": list, "scan": scanTree, "scan often": scanOften, "mkdir": mkdir, "symlink": symlink, "link": link, "rename": rename, "remove": remove,
	"open many": openMany, "leave open": leaveOpen, "environment": environment, "ask": ask,
	"spin": spin, "recurse": recurse, "grow": grow, "hold": hold, "sleep": sleep, "exit": exit, "panic": crash, "print": printOut,
	"spawn": spawn,
}

// reason returns the text of the error number from the host, without the path that package os adds.
func reason(err error) string {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// ask performs a host operation.
func ask(a action) (string, error) {
	var result json.RawMessage
	if err := sdk.HostCall(a.Op, a.Params, &result); err != nil {
		return "", err
	}
	return string(result), nil
}
