//go:build !wasip1

// Package sdktest runs a plugin's handlers natively in go test, against the plugin's plugin.toml. Requests and responses are encoded as in the
// ABI; no module is compiled. Start with New and Host.CallTool.
//
//	func TestGreet(t *testing.T) {
//		host := sdktest.New(t, plugin(), "plugin.toml")
//		result, err := host.CallTool("greet", `{"name": "Ada"}`)
//		…
//	}
//
// New fails the test if the manifest and the handlers differ. Handle sets the result of a host operation. By default, notifications and locks
// succeed and are recorded: see Notifications and Locks. Answer sets what the client answers to a handler that asks questions. The file
// system, the clock and the environment are those of the test: use t.TempDir, t.Chdir and t.Setenv.
//
// Stability: exported names stay within a major version.
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
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

// maxLockName is the maximum length of a lock's name, in bytes.
const maxLockName = 256

// hostMu serializes calls, since a process has only one fake host.
var hostMu sync.Mutex

// Host is a fake host of one plugin.
type Host struct {
	plugin     *sdk.Plugin
	manifest   *manifest
	operations map[string]Operation
	log        []string
	sent       []abi.Notification
	locks      []string
	folders    []string
	client     abi.Client
	answers    map[string]json.RawMessage
	asked      []Asked
}

// Operation implements a host operation. An error that is an *abi.HostError is returned unchanged; any other error becomes abi.HostFailed.
type Operation func(params json.RawMessage) (result any, err error)

// New returns a host for p. file is the path of the manifest. New fails the test if the manifest cannot be read, or if p does not handle
// exactly the tools, prompts and resources that the manifest declares.
func New(t testing.TB, p *sdk.Plugin, file string) *Host {
	t.Helper()
	m, err := load(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.compare(p.Describe()); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	h := &Host{plugin: p, manifest: m, operations: map[string]Operation{}, client: everything(), answers: map[string]json.RawMessage{}}
	h.Handle(abi.OpNotify, h.notify)
	h.Handle(abi.OpLock, h.lock)
	h.Handle(abi.OpClaims, func(json.RawMessage) (any, error) { return abi.Claims{}, nil })
	return h
}

// Handle sets the implementation of the operation op.
func (h *Host) Handle(op string, operation Operation) { h.operations[op] = operation }

// Log returns the lines that the plugin has logged.
func (h *Host) Log() []string { return h.log }

// Notifications returns the notifications that the plugin has sent to the client.
func (h *Host) Notifications() []abi.Notification { return h.sent }

// Locks returns the names that the plugin has locked, in order. Calls run one after the other, so no call waits for a lock.
func (h *Host) Locks() []string { return h.locks }

// LockedFolders returns the paths of the directories that the plugin has locked, in order. The fake host has no grants: any existing
// directory can be locked.
func (h *Host) LockedFolders() []string { return h.folders }

func (h *Host) lock(params json.RawMessage) (any, error) {
	var l abi.Lock
	if err := json.Unmarshal(params, &l); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: err.Error()}
	}
	if l.Name == "" || len(l.Name) > maxLockName {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("lock: the name must have 1 to %d bytes", maxLockName)}
	}
	if l.Folder != "" {
		if !filepath.IsAbs(l.Folder) {
			return nil, &abi.HostError{Code: abi.HostInvalid, Message: fmt.Sprintf("lock: the directory %q is not an absolute path", l.Folder)}
		}
		if info, err := os.Stat(l.Folder); err != nil || !info.IsDir() {
			return nil, &abi.HostError{Code: abi.HostFailed, Message: fmt.Sprintf("lock: %q is not an existing directory", l.Folder)}
		}
		h.folders = append(h.folders, l.Folder)
	}
	h.locks = append(h.locks, l.Name)
	return nil, nil
}

func (h *Host) notify(params json.RawMessage) (any, error) {
	var n abi.Notification
	if err := json.Unmarshal(params, &n); err != nil {
		return nil, &abi.HostError{Code: abi.HostInvalid, Message: err.Error()}
	}
	h.sent = append(h.sent, n)
	return nil, nil
}

// Result is the result of tools/call.
type Result struct {
	Raw        json.RawMessage // the complete result as JSON
	Texts      []string        // text items of the content, in order
	IsError    bool
	Structured json.RawMessage // value of structuredContent; nil if absent
}

// Text returns the text items of the result, joined by newlines.
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

// CallTool calls a tool. arguments is JSON; if it is empty, the call has no arguments. As with a real host, arguments that violate the tool's
// schema are an error and do not reach the plugin, unless its manifest sets validate = "plugin". A JSON-RPC error of the plugin is returned
// as an *sdk.Error. A result that does not match what the manifest says of it, by output or returns, is returned with an error.
func (h *Host) CallTool(name, arguments string) (*Result, error) {
	params := map[string]any{"name": name}
	if arguments != "" {
		params["arguments"] = json.RawMessage(arguments)
	}
	return h.CallToolParams(params)
}

// CallToolParams is like CallTool, but for any parameters of the request, such as _meta.
func (h *Host) CallToolParams(params map[string]any) (*Result, error) {
	name, _ := params["name"].(string)
	arguments, _ := params["arguments"].(json.RawMessage)
	if err := h.manifest.validate(name, arguments); err != nil {
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
		return nil, fmt.Errorf("the result is not a tool result: %w", err)
	}
	out := &Result{Raw: raw, IsError: result.IsError, Structured: result.StructuredContent}
	for _, item := range result.Content {
		if item.Type == "text" {
			out.Texts = append(out.Texts, item.Text)
		}
	}
	return out, h.manifest.validateResult(name, out)
}

// Request sends any request of ABI 1 and returns the result.
func (h *Host) Request(method string, params any) (json.RawMessage, error) {
	rawParams, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("params: %w", err)
	}
	call := abi.Request{Method: method, Params: rawParams}
	if len(h.manifest.Capabilities.Ask) > 0 && canAsk(method) {
		call.Client = h.manifest.restrict(h.client)
	}
	for range abi.MaxAskRounds + 1 {
		response, err := h.respond(call)
		switch {
		case err != nil:
			return nil, err
		case response.Error != nil:
			return nil, response.Error
		case response.Ask == nil:
			return response.Result, nil
		}
		if err := h.ask(&call, response.Ask); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("the plugin asked the client more than %d times", abi.MaxAskRounds)
}

func (h *Host) respond(call abi.Request) (abi.Response, error) {
	var response abi.Response
	request, err := json.Marshal(call)
	if err != nil {
		return response, fmt.Errorf("request: %w", err)
	}
	if err := json.Unmarshal(h.dispatch(request), &response); err != nil {
		return response, fmt.Errorf("the response violates ABI 1: %w", err)
	}
	return response, nil
}

func (h *Host) dispatch(request []byte) []byte {
	hostMu.Lock()
	defer hostMu.Unlock()
	imports.SetHost(&imports.Host{
		Call: h.operate,
		Log:  func(_ int32, line string) { h.log = append(h.log, line) },
	})
	defer imports.SetHost(nil)
	return h.plugin.Dispatch(request)
}

func (h *Host) operate(request []byte) []byte {
	response, err := json.Marshal(h.perform(request))
	if err != nil {
		panic(fmt.Sprintf("sdktest: the result of an operation cannot be encoded: %v", err))
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
		return refused(&abi.HostError{Code: abi.HostDenied, Message: fmt.Sprintf("the test does not handle the operation %q: see Host.Handle", r.Op)})
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
