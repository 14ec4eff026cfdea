// Intruder is a plugin that does what it is told: one attempt a call, with what came of it as the answer. What
// is tried, and what must come of it, stands in the tests.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/sdk"
)

// order is what a call is told.
type order struct {
	Do     string          `json:"do"`
	Path   string          `json:"path"`
	To     string          `json:"to"`
	Op     string          `json:"op"`
	Params json.RawMessage `json:"params"`
	Count  int             `json:"count"`
}

func init() {
	p := sdk.New()
	sdk.HandleTool(p, "intrude", func(_ context.Context, o order) (*sdk.ToolResult, error) {
		do, ok := attempts[o.Do]
		if !ok {
			return nil, fmt.Errorf("there is no attempt %q", o.Do)
		}
		text, err := do(o)
		if err != nil {
			return sdk.ErrorText(reason(err)), nil
		}
		return sdk.Text(text), nil
	})
	sdk.Serve(p)
}

func main() {}

// attempts are what it can be told to do.
var attempts = map[string]func(order) (string, error){
	"nothing": func(order) (string, error) { return "nothing", nil },
	"read":    read, "read raw": readRaw, "read often": readOften, "write": write, "write often": writeOften,
	"list": list, "mkdir": mkdir, "symlink": symlink, "link": link, "rename": rename, "remove": remove,
	"open many": openMany, "leave open": leaveOpen, "environment": environment, "ask": ask,
	"spin": spin, "recurse": recurse, "grow": grow, "hold": hold, "sleep": sleep, "exit": exit, "panic": crash, "print": printOut,
	"spawn": spawn,
}

// reason is the number that the host gave, in words.
func reason(err error) string {
	if errno := syscall.Errno(0); errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// ask performs a host operation.
func ask(o order) (string, error) {
	var result json.RawMessage
	if err := sdk.HostCall(o.Op, o.Params, &result); err != nil {
		return "", err
	}
	return string(result), nil
}
