// Package sdktest runs a plugin's handlers natively inside go test, against its plugin.toml: the same
// bytes go in and come out as at a module's border, without compiling one.
//
//	func TestGreet(t *testing.T) {
//		host := sdktest.New(t, plugin(), "plugin.toml")
//		result, err := host.CallTool("greet", `{"name": "Ada"}`)
//		…
//	}
//
// New fails the test where the manifest and the handlers disagree. Host operations answer what Handle
// registered for them; notifications and locks are kept for Notifications and Locks unless it did. The file
// system, the clock and the environment are the test's own: use t.TempDir, t.Chdir and t.Setenv.
package sdktest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/border"
)

// maxLockName is the most that a lock's name may have, in bytes.
const maxLockName = 256

// calls makes the native stand-in for the host, of which a process has one, belong to one call at a time.
var calls sync.Mutex

// Host stands in for the host of one plugin.
type Host struct {
	plugin     *sdk.Plugin
	manifest   *manifest
	operations map[string]Operation
	log        []string
	sent       []abi.Notification
	locks      []string
	folders    []string
}

// Operation answers a host operation. A *abi.HostError is passed on as it is, any other error as
// abi.HostFailed.
type Operation func(params json.RawMessage) (result any, err error)

// New returns a host for p, whose manifest is in file. The test fails at once if the manifest cannot be
// read, or names other tools, prompts or resources than p has handlers for.
func New(t testing.TB, p *sdk.Plugin, file string) *Host {
	t.Helper()
	m, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.agrees(p.Describe()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	h := &Host{plugin: p, manifest: m, operations: map[string]Operation{}}
	h.Handle(abi.OpNotify, h.keep)
	h.Handle(abi.OpLock, h.lock)
	h.Handle(abi.OpClaims, func(json.RawMessage) (any, error) { return abi.Claims{}, nil })
	return h
}

// Handle makes operation answer op, in place of what answered it before.
func (h *Host) Handle(op string, operation Operation) { h.operations[op] = operation }

// Log returns the lines that the plugin has logged.
func (h *Host) Log() []string { return h.log }

// Notifications returns what the plugin has sent for the client.
func (h *Host) Notifications() []abi.Notification { return h.sent }

// Locks returns the names that the plugin has locked, in order. As calls run one after the other, none of
// them waits.
func (h *Host) Locks() []string { return h.locks }

// LockedFolders returns the folders that the plugin has locked, in order. What a plugin is granted no test knows:
// any that is there can be locked.
func (h *Host) LockedFolders() []string { return h.folders }

func (h *Host) lock(params json.RawMessage) (any, error) {
	var l abi.Lock
	if err := json.Unmarshal(params, &l); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: err.Error()}
	}
	if l.Name == "" || len(l.Name) > maxLockName {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("lock: a name has 1 to %d bytes", maxLockName)}
	}
	if l.Folder != "" {
		if !filepath.IsAbs(l.Folder) {
			return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("lock: the folder %q is not an absolute path", l.Folder)}
		}
		if info, err := os.Stat(l.Folder); err != nil || !info.IsDir() {
			return nil, &abi.HostError{Code: abi.HostFailed, Message: fmt.Sprintf("lock: %q: there is no folder", l.Folder)}
		}
		h.folders = append(h.folders, l.Folder)
	}
	h.locks = append(h.locks, l.Name)
	return nil, nil
}

func (h *Host) keep(params json.RawMessage) (any, error) {
	var n abi.Notification
	if err := json.Unmarshal(params, &n); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: err.Error()}
	}
	h.sent = append(h.sent, n)
	return nil, nil
}

// Result is the answer to a tools/call.
type Result struct {
	Raw        json.RawMessage // all of it
	Texts      []string        // the text items of its content, in order
	IsError    bool
	Structured json.RawMessage // structuredContent; nil if absent
}

// Text returns the result's text items, joined by newlines.
func (r *Result) Text() string {
	text := ""
	for i, item := range r.Texts {
		if i > 0 {
			text += "\n"
		}
		text += item
	}
	return text
}

// CallTool calls a tool with its arguments as JSON; "" sends none. As in the host, arguments that do not
// meet the tool's schema never reach the plugin, unless its manifest says validate = "plugin": the error
// says what is wrong with them. A JSON-RPC error of the plugin's comes back as *sdk.Error.
func (h *Host) CallTool(name, arguments string) (*Result, error) {
	params := map[string]any{"name": name}
	if arguments != "" {
		params["arguments"] = json.RawMessage(arguments)
	}
	return h.CallToolParams(params)
}

// CallToolParams is CallTool with all parameters, such as _meta.
func (h *Host) CallToolParams(params map[string]any) (*Result, error) {
	name, _ := params["name"].(string)
	arguments, _ := params["arguments"].(json.RawMessage)
	if err := h.manifest.admits(name, arguments); err != nil {
		return nil, err
	}
	raw, err := h.Request(abi.MethodToolsCall, params)
	if err != nil {
		return nil, err
	}
	var result struct {
		Content []struct {
			Type string
			Text string
		}
		StructuredContent json.RawMessage
		IsError           bool
	}
	if err := json.Unmarshal(raw, &result); err != nil {
		return nil, fmt.Errorf("the result is no tool result: %w", err)
	}
	out := &Result{Raw: raw, IsError: result.IsError, Structured: result.StructuredContent}
	for _, item := range result.Content {
		if item.Type == "text" {
			out.Texts = append(out.Texts, item.Text)
		}
	}
	return out, nil
}

// Request sends any request of ABI 1 and returns its result.
func (h *Host) Request(method string, params any) (json.RawMessage, error) {
	rawParams, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	request, err := json.Marshal(abi.Request{Method: method, Params: rawParams})
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	var response abi.Response
	if err := json.Unmarshal(h.dispatch(request), &response); err != nil {
		return nil, fmt.Errorf("the response is not of ABI 1: %w", err)
	}
	if response.Error != nil {
		return nil, response.Error
	}
	return response.Result, nil
}

func (h *Host) dispatch(request []byte) []byte {
	calls.Lock()
	defer calls.Unlock()
	border.SetHost(&border.Host{
		Call: h.operate,
		Log:  func(_ int32, line string) { h.log = append(h.log, line) },
	})
	defer border.SetHost(nil)
	return h.plugin.Dispatch(request)
}

func (h *Host) operate(request []byte) []byte {
	response, err := json.Marshal(h.perform(request))
	if err != nil {
		panic(fmt.Sprintf("sdktest: an operation's result is no JSON: %v", err))
	}
	return response
}

func (h *Host) perform(request []byte) abi.HostResponse {
	var r abi.HostRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return refused(&abi.HostError{Code: abi.HostInvalid, Message: err.Error()})
	}
	operation, ok := h.operations[r.Op]
	if !ok {
		return refused(&abi.HostError{Code: abi.HostDenied, Message: fmt.Sprintf("the test handles no operation %q: see Host.Handle", r.Op)})
	}
	result, err := operation(r.Params)
	if err != nil {
		return refused(err)
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return refused(err)
	}
	return abi.HostResponse{Result: raw}
}

func refused(err error) abi.HostResponse {
	own := (*abi.HostError)(nil)
	if !errors.As(err, &own) {
		own = &abi.HostError{Code: abi.HostFailed, Message: err.Error()}
	}
	return abi.HostResponse{Error: own}
}
