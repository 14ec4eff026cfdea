//go:build unix

package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestClientSDKsRunTasks has the official client libraries of three languages call tools as tasks. The one for TypeScript does so by
// @modelcontextprotocol/ext-tasks over its transport, that for Python by an extension, and that for Go, which drops the ID of a task, by
// requests of its own for what follows the call.
func TestClientSDKsRunTasks(t *testing.T) {
	t.Parallel()
	config := filepath.Join(tasksProject(t, ""), "bulkhead.toml")
	script, err := filepath.Abs("clients/tasks.json")
	if err != nil {
		t.Fatal(err)
	}
	url, headers := serveWithToken(t, config)
	for _, library := range libraries {
		if !slices.Contains([]string{"typescript-2", "python-2", "go"}, library.name) {
			continue
		}
		t.Run(library.name, func(t *testing.T) {
			run := library.start(t)
			for name, target := range map[string]scriptTarget{
				"stdio": stdioTarget(t, config, script, modernVersion),
				"http":  {Script: script, Version: modernVersion, URL: url, Headers: headers},
			} {
				t.Run(name, func(t *testing.T) { library.check(t, target, run(t, target)) })
			}
		})
	}
}

// goTasks is what a client of the Go SDK needs for tasks: the ID of the last one, which is read from the messages that the client gets, and the
// header that names it over HTTP.
type goTasks struct {
	mu   sync.Mutex
	last string
}

var taskIDPattern = regexp.MustCompile(`"resultType":"task".*?"taskId":"([^"]+)"|"taskId":"([^"]+)".*?"resultType":"task"`)

// Write takes messages, of which the transport for stdio writes a copy.
func (g *goTasks) Write(message []byte) (int, error) {
	if found := taskIDPattern.FindSubmatch(message); found != nil {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.last = string(found[1]) + string(found[2])
	}
	return len(message), nil
}

// take returns the ID of the task that the last call has created, if it has.
func (g *goTasks) take() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := g.last
	g.last = ""
	return id
}

// over is a transport that reads the IDs of tasks from responses, and names tasks in headers.
func (g *goTasks) over(transport http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		var request struct {
			Method string
			Params struct{ TaskID string }
		}
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			_ = json.Unmarshal(body, &request) // a notification of another form has no task
			r = r.Clone(r.Context())
			r.Body = io.NopCloser(bytes.NewReader(body))
			if request.Params.TaskID != "" {
				r.Header.Set("Mcp-Name", request.Params.TaskID)
			}
		}
		response, err := transport.RoundTrip(r)
		if err != nil || request.Method != "tools/call" {
			return response, err
		}
		response.Body = &observedBody{ReadCloser: response.Body, tasks: g}
		return response, nil
	})
}

// observedBody is the body of a response to a call.
type observedBody struct {
	io.ReadCloser
	tasks *goTasks
	read  []byte
}

func (o *observedBody) Read(p []byte) (int, error) {
	n, err := o.ReadCloser.Read(p)
	o.read = append(o.read, p[:n]...)
	_, _ = o.tasks.Write(o.read)
	return n, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// goTaskParams are the parameters of requests about a task.
type goTaskParams struct {
	mcp.ParamsBase
	TaskID    string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// goTaskState is the result of tasks/get.
type goTaskState struct {
	mcp.ResultBase
	Status        string `json:"status"`
	InputRequests map[string]struct {
		Method string `json:"method"`
	} `json:"inputRequests"`
	Result *mcp.CallToolResult `json:"result"`
	Error  *jsonrpc.Error      `json:"error"`
}

// task calls a tool and waits for the end of its task.
func (c *scriptedGoSDK) task(ctx context.Context, s scriptStep) (any, error) {
	got, err := c.call(ctx, s, nil)
	asked := []string{}
	id := c.tasks.take()
	if id == "" {
		if err == nil {
			got["kind"], got["status"], got["asked"] = "immediate", "completed", asked
		}
		return got, err
	}
	request := func(method string, responses map[string]json.RawMessage) (*goTaskState, error) {
		return mcp.CallCustomMethod[*goTaskParams, *goTaskState](ctx, c.session, method, &goTaskParams{TaskID: id, Responses: responses})
	}
	if s.Cancel {
		if _, err := request("tasks/cancel", nil); err != nil {
			return nil, err
		}
	}
	for {
		state, err := request("tasks/get", nil)
		if err != nil {
			return nil, err
		}
		if len(state.InputRequests) > 0 {
			responses := map[string]json.RawMessage{}
			for key, question := range state.InputRequests {
				asked = append(asked, question.Method)
				responses[key] = s.Answers[question.Method]
			}
			if _, err := request("tasks/update", responses); err != nil {
				return nil, err
			}
		}
		if state.Status != "working" && state.Status != "input_required" {
			got := map[string]any{"kind": "task", "status": state.Status, "asked": asked}
			if state.Result != nil {
				got["content"] = state.Result.Content
				if state.Result.IsError {
					got["isError"] = true
				}
			}
			if state.Error != nil {
				got["code"] = state.Error.Code
			}
			return got, nil
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// addTo registers the requests about tasks.
func (g *goTasks) addTo(c *mcp.Client) error {
	var errs []error
	for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
		errs = append(errs, mcp.AddSendingCustomMethod[*goTaskParams, *goTaskState](c, method))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}
	return nil
}
