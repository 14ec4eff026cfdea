//go:build unix

package tests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 sampling, roots and log messages are deprecated, and tested

// scriptedGoSDK runs the steps of clients/script.json with the official Go SDK.
type scriptedGoSDK struct {
	client   *mcp.Client
	session  *mcp.ClientSession
	progress chan []any
	messages chan []any
	changes  chan string
	answers  map[string]json.RawMessage
	mu       sync.Mutex
	asked    []string
	tasks    goTasks
}

// runGoSDK runs the script as the adapters in clients/ do.
func runGoSDK(t *testing.T, target scriptTarget) (lines []scriptLine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := &scriptedGoSDK{progress: make(chan []any, 10), messages: make(chan []any, 10), changes: make(chan string, 10)}
	if err := c.connect(ctx, target); err != nil {
		return []scriptLine{{"connect", err.Error()}}
	}
	for _, step := range readScript(t, target.Script) {
		if step.Bare != target.Bare {
			continue
		}
		got, err := c.step(ctx, step)
		if err != nil {
			got = map[string]any{"error": err.Error()}
			if coded := (*jsonrpc.Error)(nil); errors.As(err, &coded) {
				got = map[string]any{"error": coded.Code}
			}
		}
		lines = append(lines, scriptLine{step.Name, throughJSON(t, got)})
	}
	if err := c.session.Close(); err != nil {
		return append(lines, scriptLine{"close", err.Error()})
	}
	return append(lines, scriptLine{"close", "closed"})
}

// throughJSON returns a value as it is after encoding and decoding.
func throughJSON(t *testing.T, value any) (decoded any) {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	return decoded
}

func (c *scriptedGoSDK) connect(ctx context.Context, target scriptTarget) (err error) {
	options := &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if params, err := json.Marshal(r.Params); err != nil || !dispatch.IsStartReport("notifications/progress", params) {
				c.progress <- []any{r.Params.Progress, r.Params.Total}
			}
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			if params, err := json.Marshal(r.Params); err != nil || !dispatch.IsStartReport("notifications/message", params) {
				c.messages <- []any{r.Params.Level, r.Params.Logger, r.Params.Data}
			}
		},
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return answer[mcp.ElicitResult](c, "elicitation/create")
		},
		CreateMessageHandler: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			return answer[mcp.CreateMessageResult](c, "sampling/createMessage")
		},
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}},
		},
		ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { c.changes <- r.Params.URI },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { c.changes <- "resources" },
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { c.changes <- "prompts" },
	}
	if target.Bare {
		options.ElicitationHandler, options.CreateMessageHandler, options.Capabilities = nil, nil, &mcp.ClientCapabilities{}
	} else {
		options.Capabilities.AddExtension("io.modelcontextprotocol/tasks", nil)
	}
	c.client = mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, options)
	if err := c.tasks.addTo(c.client); err != nil {
		return err
	}
	transport := mcp.Transport(&mcp.StreamableClientTransport{Endpoint: target.URL, HTTPClient: &http.Client{Transport: c.tasks.over(withHeaders{target.Headers, cmp.Or(target.transport, http.DefaultTransport)})}})
	if target.URL == "" {
		cmd := exec.Command(target.Command, target.Args...)
		cmd.Dir = target.Dir
		for name, value := range target.Env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		transport = &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: &c.tasks}
	}
	c.session, err = c.client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: target.Version})
	return err
}

// withHeaders adds headers to each request.
type withHeaders struct {
	headers   map[string]string
	transport http.RoundTripper
}

func (h withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, value := range h.headers {
		r.Header.Set(name, value)
	}
	return h.transport.RoundTrip(r)
}

// answer returns the answer of the current step to a request of the server.
func answer[T any](c *scriptedGoSDK, method string) (*T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, method)
	var refusal struct{ Error *jsonrpc.Error }
	if err := json.Unmarshal(c.answers[method], &refusal); err != nil || refusal.Error != nil {
		return nil, cmp.Or[error](err, refusal.Error)
	}
	result := new(T)
	return result, json.Unmarshal(c.answers[method], result)
}

func (c *scriptedGoSDK) isModern() bool {
	return c.session.InitializeResult().ProtocolVersion == modernVersion
}

// step does what a step says and returns what the client got.
func (c *scriptedGoSDK) step(ctx context.Context, s scriptStep) (any, error) {
	switch s.Do {
	case "server":
		result := c.session.InitializeResult()
		return map[string]any{"name": result.ServerInfo.Name, "version": result.ProtocolVersion}, nil
	case "tools":
		result, err := c.session.ListTools(ctx, nil)
		return names(result, err, func(r *mcp.ListToolsResult) []*mcp.Tool { return r.Tools }, func(t *mcp.Tool) string { return t.Name })
	case "resources":
		result, err := c.session.ListResources(ctx, nil)
		return names(result, err, func(r *mcp.ListResourcesResult) []*mcp.Resource { return r.Resources }, func(r *mcp.Resource) string { return r.URI })
	case "templates":
		result, err := c.session.ListResourceTemplates(ctx, nil)
		return names(result, err, func(r *mcp.ListResourceTemplatesResult) []*mcp.ResourceTemplate { return r.ResourceTemplates },
			func(t *mcp.ResourceTemplate) string { return t.URITemplate })
	case "prompts":
		result, err := c.session.ListPrompts(ctx, nil)
		return names(result, err, func(r *mcp.ListPromptsResult) []*mcp.Prompt { return r.Prompts }, func(p *mcp.Prompt) string { return p.Name })
	case "read":
		result, err := c.session.ReadResource(ctx, &mcp.ReadResourceParams{URI: s.URI})
		if err != nil {
			return nil, err
		}
		return result.Contents, nil
	case "prompt":
		result, err := c.session.GetPrompt(ctx, &mcp.GetPromptParams{Name: s.Prompt, Arguments: stringsOf(s.Arguments)})
		if err != nil {
			return nil, err
		}
		return result.Messages, nil
	case "complete":
		return c.complete(ctx, s)
	case "call":
		return c.call(ctx, s, nil)
	case "progress":
		return c.callWithProgress(ctx, s)
	case "log":
		return c.callWithLog(ctx, s)
	case "cancel":
		return c.cancel(ctx, s)
	case "task":
		return c.task(ctx, s)
	case "watch":
		return c.watch(ctx, s)
	case "ask":
		return c.ask(ctx, s)
	}
	return nil, fmt.Errorf("unknown step %s", s.Do)
}

// names returns a member of each item of a list.
func names[R, T any](result R, err error, items func(R) []T, name func(T) string) (any, error) {
	if err != nil {
		return nil, err
	}
	var list []string
	for _, item := range items(result) {
		list = append(list, name(item))
	}
	return list, nil
}

func stringsOf(values map[string]any) map[string]string {
	text := map[string]string{}
	for name, value := range values {
		text[name] = fmt.Sprint(value)
	}
	return text
}

func (c *scriptedGoSDK) call(ctx context.Context, s scriptStep, meta mcp.Meta) (map[string]any, error) {
	params := &mcp.CallToolParams{Name: s.Tool, Meta: meta}
	if s.Arguments != nil {
		params.Arguments = s.Arguments
	}
	result, err := c.session.CallTool(ctx, params)
	if err != nil {
		return nil, err
	}
	got := map[string]any{"content": result.Content}
	if result.StructuredContent != nil {
		got["structuredContent"] = result.StructuredContent
	}
	if result.IsError {
		got["isError"] = true
	}
	return got, nil
}

func (c *scriptedGoSDK) callWithProgress(ctx context.Context, s scriptStep) (any, error) {
	got, err := c.call(ctx, s, mcp.Meta{"progressToken": "progress"})
	if err != nil {
		return nil, err
	}
	var notes [][]any
	for range s.Want.(map[string]any)["progress"].([]any) {
		select {
		case note := <-c.progress:
			notes = append(notes, note)
		case <-ctx.Done():
			return nil, fmt.Errorf("got the progress %v only", notes)
		}
	}
	// The library calls handlers in any order.
	slices.SortFunc(notes, func(a, b []any) int { return int(a[0].(float64) - b[0].(float64)) })
	got["progress"] = notes
	return got, nil
}

func (c *scriptedGoSDK) callWithLog(ctx context.Context, s scriptStep) (any, error) {
	meta, err := c.requestLog(ctx, s.Level)
	if err != nil {
		return nil, err
	}
	got, err := c.call(ctx, s, meta)
	if err != nil {
		return nil, err
	}
	var messages [][]any
	for range s.Messages {
		select {
		case message := <-c.messages:
			messages = append(messages, message)
		case <-ctx.Done():
			return nil, fmt.Errorf("got the messages %v only", messages)
		}
	}
	got["messages"] = messages
	return got, nil
}

// requestLog requests log messages, and returns what a call must have for it.
func (c *scriptedGoSDK) requestLog(ctx context.Context, level string) (mcp.Meta, error) {
	if c.isModern() {
		return mcp.Meta{mcp.MetaKeyLogLevel: level}, nil
	}
	return nil, c.session.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: mcp.LoggingLevel(level)})
}

// cancel cancels a call when it reports progress or, at a level, logs a message.
func (c *scriptedGoSDK) cancel(ctx context.Context, s scriptStep) (any, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sign, meta := c.progress, mcp.Meta{"progressToken": "cancel"}
	if s.Level != "" {
		var err error
		if meta, err = c.requestLog(ctx, s.Level); err != nil {
			return nil, err
		}
		sign = c.messages
	}
	go func() {
		select {
		case <-sign:
			cancel()
		case <-ctx.Done():
		}
	}()
	got, err := c.call(ctx, s, meta)
	if errors.Is(err, context.Canceled) {
		return "cancelled", nil
	}
	return got, err
}

func (c *scriptedGoSDK) ask(ctx context.Context, s scriptStep) (any, error) {
	c.mu.Lock()
	c.answers, c.asked = s.Answers, nil
	c.mu.Unlock()
	if raw := s.Answers["roots/list"]; raw != nil { // the library answers by itself
		var result mcp.ListRootsResult
		if err := json.Unmarshal(raw, &result); err != nil {
			return nil, err
		}
		c.client.AddRoots(result.Roots...)
		defer c.client.RemoveRoots(result.Roots[0].URI)
		c.asked = []string{"roots/list"}
	}
	got, err := c.call(ctx, s, nil)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.Sort(c.asked)
	got["asked"] = c.asked
	return got, nil
}

func (c *scriptedGoSDK) watch(ctx context.Context, s scriptStep) (any, error) {
	if err := c.session.Subscribe(ctx, &mcp.SubscribeParams{URI: s.URI}); err != nil {
		return nil, err
	}
	if _, err := c.call(ctx, s, nil); err != nil {
		return nil, err
	}
	var changes []string
	for range s.Changes {
		select {
		case change := <-c.changes:
			changes = append(changes, change)
		case <-ctx.Done():
			return nil, fmt.Errorf("got the changes %s only", strings.Join(changes, ", "))
		}
	}
	slices.Sort(changes)
	return changes, c.session.Unsubscribe(ctx, &mcp.UnsubscribeParams{URI: s.URI})
}

func (c *scriptedGoSDK) complete(ctx context.Context, s scriptStep) (any, error) {
	params := &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: s.Ref["type"], Name: s.Ref["name"], URI: s.Ref["uri"]},
		Argument: mcp.CompleteParamsArgument{Name: s.Argument["name"], Value: s.Argument["value"]},
	}
	if s.Context.Arguments != nil {
		params.Context = &mcp.CompleteContext{Arguments: s.Context.Arguments}
	}
	result, err := c.session.Complete(ctx, params)
	if err != nil {
		return nil, err
	}
	return result.Completion.Values, nil
}
