//go:build !wasip1

package sdktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

const manifestText = `
manifest = 1
[plugin]
name = "demo"
version = "0.1.0"
description = "for tests"
[offers]
prompts = ["review"]
resources = true
completions = true
[[tools]]
name = "greet"
description = "Greets"
access = "read"
[tools.input]
type = "object"
required = ["name"]
[tools.input.properties.name]
type = "string"
[[tools]]
name = "raw"
description = "Says what it got"
access = "read"
[[tools]]
name = "branch"
description = "Looks for a branch"
access = "read"
`

type person struct {
	Name string `json:"name"`
}

func plugin() *sdk.Plugin {
	p := sdk.New()
	sdk.HandleTool(p, "greet", func(ctx context.Context, who person) (*sdk.ToolResult, error) {
		if who.Name == "nobody" {
			return nil, errors.New("nobody <is> here")
		}
		if who.Name == "protocol" {
			return nil, &sdk.Error{Code: abi.CodeInvalidParams, Message: "not this one", Data: json.RawMessage(`{"a":1}`)}
		}
		sdk.Log(sdk.LevelInfo, "greeting %s", who.Name)
		if err := sdk.Progress(ctx, 1, 2, "half"); err != nil {
			return nil, err
		}
		return sdk.Text("Hello, " + who.Name), nil
	})
	sdk.HandleTool(p, "raw", func(_ context.Context, arguments json.RawMessage) (*sdk.ToolResult, error) {
		if arguments == nil {
			return sdk.Text("absent"), nil
		}
		return sdk.Text(string(arguments)), nil
	})
	sdk.HandleTool(p, "branch", func(context.Context, struct{}) (*sdk.ToolResult, error) {
		exists, err := git.BranchExists("/repo", "main")
		if err != nil {
			return nil, err
		}
		return &sdk.ToolResult{StructuredContent: map[string]bool{"exists": exists}}, nil
	})
	p.HandlePrompts(sdk.Prompts{
		List: func(context.Context) ([]sdk.Prompt, error) { return []sdk.Prompt{{Name: "review"}}, nil },
		Get: func(_ context.Context, name string, arguments map[string]string) (*sdk.PromptResult, error) {
			return &sdk.PromptResult{Messages: []sdk.PromptMessage{{Role: "user", Content: sdk.TextContent{Text: name + arguments["x"]}}}}, nil
		},
	})
	p.HandleResources(sdk.Resources{
		List: func(context.Context) ([]sdk.Resource, error) { return nil, nil },
		Read: func(_ context.Context, uri string) ([]sdk.ResourceContents, error) {
			return []sdk.ResourceContents{{URI: uri, Text: ""}, {URI: uri, Blob: []byte{1, 2}}}, nil
		},
	})
	p.HandleComplete(func(_ context.Context, r sdk.CompleteRequest) (*sdk.Completion, error) {
		return &sdk.Completion{Values: []string{r.Argument.Value + "!"}}, nil
	})
	return p
}

func write(t *testing.T, text string) string {
	file := filepath.Join(t.TempDir(), "plugin.toml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestCallTool(t *testing.T) {
	host := sdktest.New(t, plugin(), write(t, manifestText))
	host.Handle(abi.OpGitBranchExists, func(json.RawMessage) (any, error) { return true, nil })
	tests := []struct{ name, tool, arguments, want string }{
		{"typed arguments are decoded", "greet", `{"name":"Ada"}`, `{"content":[{"type":"text","text":"Hello, Ada"}]}`},
		{"a handler's error is a result with its unescaped text", "greet", `{"name":"nobody"}`, `{"content":[{"type":"text","text":"nobody <is> here"}],"isError":true}`},
		{"raw arguments keep large numbers", "raw", `{"a": 9007199254740993}`, `{"content":[{"type":"text","text":"{\"a\":9007199254740993}"}]}`},
		{"absent arguments are nil", "raw", ``, `{"content":[{"type":"text","text":"absent"}]}`},
		{"the test implements a host operation; content is never null", "branch", `{}`, `{"content":[],"structuredContent":{"exists":true}}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := host.CallTool(test.tool, test.arguments)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(got.Raw)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallToolFails(t *testing.T) {
	host := sdktest.New(t, plugin(), write(t, manifestText))
	if _, err := host.CallTool("greet", `{}`); err == nil {
		t.Error("arguments against the schema: got no error")
	}
	if _, err := host.CallTool("nope", `{}`); err == nil {
		t.Error("unknown tool: got no error")
	}
	_, err := host.CallTool("greet", `{"name":"protocol"}`)
	own := (*sdk.Error)(nil)
	if !errors.As(err, &own) || own.Code != abi.CodeInvalidParams || string(own.Data) != `{"a":1}` {
		t.Errorf("a JSON-RPC error: got %v", err)
	}
	result, err := host.CallTool("branch", `{}`)
	if err != nil || !result.IsError {
		t.Errorf("an operation that the test does not handle: got %+v, %v, want a result with isError", result, err)
	}
}

func TestProgressAndLog(t *testing.T) {
	host := sdktest.New(t, plugin(), write(t, manifestText))
	for _, meta := range []map[string]any{nil, {"progressToken": 7}} {
		params := map[string]any{"name": "greet", "arguments": json.RawMessage(`{"name":"Ada"}`)}
		if meta != nil {
			params["_meta"] = meta
		}
		if _, err := host.CallToolParams(params); err != nil {
			t.Fatal(err)
		}
	}
	want := []abi.Notification{{Method: "notifications/progress", Params: json.RawMessage(`{"progressToken":7,"progress":1,"total":2,"message":"half"}`)}}
	if diff := cmp.Diff(want, host.Notifications()); diff != "" {
		t.Errorf("progress is sent only for the call that asked for it: %s", diff)
	}
	if diff := cmp.Diff([]string{"greeting Ada", "greeting Ada"}, host.Log()); diff != "" {
		t.Error(diff)
	}
}

func TestPromptsResourcesCompletions(t *testing.T) {
	host := sdktest.New(t, plugin(), write(t, manifestText))
	tests := []struct{ method, params, want string }{
		{abi.MethodPromptsList, `{}`, `{"prompts":[{"name":"review"}]}`},
		{abi.MethodPromptsGet, `{"name":"a","arguments":{"x":"b"}}`, `{"messages":[{"role":"user","content":{"type":"text","text":"ab"}}]}`},
		{abi.MethodResourcesList, `{}`, `{"resources":[]}`},
		{abi.MethodResourcesTemplatesList, `{}`, `{"resourceTemplates":[]}`},
		{abi.MethodResourcesRead, `{"uri":"a:b"}`, `{"contents":[{"uri":"a:b","text":""},{"uri":"a:b","blob":"AQI="}]}`},
		{abi.MethodComplete, `{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"x","value":"y"}}`, `{"completion":{"values":["y!"]}}`},
		{abi.MethodDescribe, `{}`, `{"tools":["branch","greet","raw"],"prompts":true,"resources":true,"completions":true}`},
	}
	for _, test := range tests {
		got, err := host.Request(test.method, json.RawMessage(test.params))
		if err != nil {
			t.Errorf("%s: %v", test.method, err)
		} else if string(got) != test.want {
			t.Errorf("%s: got %s, want %s", test.method, got, test.want)
		}
	}
	_, err := sdktest.New(t, sdk.New(), write(t, "[plugin]\nname = 'x'\n")).Request(abi.MethodPromptsList, struct{}{})
	own := (*sdk.Error)(nil)
	if !errors.As(err, &own) || own.Code != abi.CodeMethodNotFound {
		t.Errorf("a method without handler: got %v", err)
	}
}

// failing is a testing.TB that records that New has failed the test.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper()               {}
func (f *failing) Fatal(...any)          { f.failed = true; panic(f) }
func (f *failing) Fatalf(string, ...any) { f.failed = true; panic(f) }

func TestNewRefusesHandlersThatDifferFromManifest(t *testing.T) {
	tests := []struct {
		name string
		text string
	}{
		{"a handler without a table", "[offers]\nprompts = true\nresources = true\ncompletions = true\n[[tools]]\nname = 'greet'"},
		{"a table without a handler", manifestText + "\n[[tools]]\nname = 'extra'"},
		{"an offer without a handler, or the reverse", "[[tools]]\nname='greet'\n[[tools]]\nname='raw'\n[[tools]]\nname='branch'"},
		{"a schema that does not compile", manifestText + "\n[[tools]]\nname = 'extra'\n[tools.input]\ntype = 7"},
		{"invalid TOML", "= 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := &failing{TB: t}
			func() {
				defer func() { _ = recover() }()
				sdktest.New(f, plugin(), write(t, test.text))
			}()
			if !f.failed {
				t.Error("New accepted the manifest")
			}
		})
	}
}

// TestResultsMatchManifest checks that a result which differs from what the manifest says of it is an error.
func TestResultsMatchManifest(t *testing.T) {
	p := sdk.New()
	sdk.HandleTool(p, "give", func(_ context.Context, result json.RawMessage) (*sdk.ToolResult, error) {
		var in struct {
			Texts      []string
			Structured json.RawMessage
			IsError    bool
		}
		if err := json.Unmarshal(result, &in); err != nil {
			return nil, err
		}
		out := &sdk.ToolResult{IsError: in.IsError}
		if in.Structured != nil {
			out.StructuredContent = in.Structured
		}
		for _, text := range in.Texts {
			out.Content = append(out.Content, sdk.TextContent{Text: text})
		}
		return out, nil
	})
	const object = `{"type": "object", "required": ["n"]}`
	for _, c := range []struct {
		declared, result string
		valid            bool
	}{
		{`output_json = '` + object + `'`, `{"structured": {"n": 1}}`, true},
		{`output_json = '` + object + `'`, `{"structured": {}}`, false},
		{`output_json = '` + object + `'`, `{"texts": ["{\"n\": 1}"]}`, false},
		{`output_json = '` + object + `'`, `{"isError": true}`, true},
		{`returns_json = '` + object + `'`, `{"structured": {"n": 1}, "texts": ["no"]}`, true},
		{`returns_json = '` + object + `'`, `{"texts": ["{\"n\": 1}", "a note"]}`, true},
		{`returns_json = '` + object + `'`, `{"texts": ["{}"]}`, false},
		{`returns_json = '` + object + `'`, `{"texts": ["n"]}`, false},
		{`returns.type = "string"`, `{"texts": ["{}"]}`, true},
		{`returns.type = "string"`, `{"structured": {"n": 1}}`, false},
		{``, `{"texts": ["{}"]}`, true},
	} {
		file := filepath.Join(t.TempDir(), "plugin.toml")
		text := "manifest = 1\n[[tools]]\nname = 'give'\n" + c.declared + "\n"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := sdktest.New(t, p, file).CallTool("give", c.result); (err == nil) != c.valid {
			t.Errorf("%s: %s: got %v, want valid %t", c.declared, c.result, err, c.valid)
		}
	}
}
