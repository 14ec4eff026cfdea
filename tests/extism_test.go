//go:build unix

package tests

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

// TestImportedPluginIsServed imports a plugin of hyper-mcp by the command, and has the client of the official Go SDK use it, over both
// transports and in both eras.
func TestImportedPluginIsServed(t *testing.T) {
	t.Parallel()
	dir := newDir(t, map[string]string{"tea.wasm": string(wasmtest.HyperMCP().Bytes())})
	run := func(t *testing.T, want string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), built.program(t), args...)
		cmd.Dir, cmd.Env = dir, environment(t)
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), want) {
			t.Fatalf("bulkhead %s: %v, %s; want %q", strings.Join(args, " "), err, out, want)
		}
	}
	run(t, "tea/plugin.toml", "plugin", "import", "tea.wasm")
	manifest := filepath.Join(dir, "tea", "plugin.toml")
	putFile(t, manifest, strings.Replace(readFile(t, manifest), "# [capabilities]", "[capabilities]\nask = [\"elicitation\"]", 1))
	putFile(t, filepath.Join(dir, "bulkhead.toml"), "[[plugins]]\npath = \"tea\"\n")
	run(t, "", "plugin", "check", "tea")
	run(t, "Hello, stranger", "call", "greet", "--config", "bulkhead.toml") // the question is cancelled without a terminal

	serve := func(t *testing.T, more ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), built.program(t), append([]string{"serve", "--config", filepath.Join(dir, "bulkhead.toml")}, more...)...)
		cmd.Dir, cmd.Env = dir, environment(t)
		return cmd
	}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		for name, transport := range map[string]func(*testing.T) mcp.Transport{
			"stdio": func(t *testing.T) mcp.Transport { return &mcp.CommandTransport{Command: serve(t)} },
			"http": func(t *testing.T) mcp.Transport {
				return &mcp.StreamableClientTransport{Endpoint: serveHTTP(t, serve(t, "--http", "127.0.0.1:0"))}
			},
		} {
			for action, want := range map[string]string{"accept": "Hello, Ada", "decline": "Hello, stranger", "": "Hello, stranger"} {
				t.Run(name+" "+version+" "+action, func(t *testing.T) {
					o := &mcp.ClientOptions{}
					if action != "" {
						o.ElicitationHandler = func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
							if r.Params.Message != "What is your name?" {
								t.Errorf("asked %q", r.Params.Message)
							}
							var answer mcp.ElicitResult
							if err := json.Unmarshal([]byte(strings.Replace(wasmtest.Accepted, "accept", action, 1)), &answer); err != nil {
								return nil, err
							}
							return &answer, nil
						}
					}
					session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transport(t), &mcp.ClientSessionOptions{ProtocolVersion: version})
					if err != nil {
						t.Fatal(err)
					}
					defer session.Close()
					result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "greet", Arguments: map[string]any{}})
					if err != nil || len(result.Content) != 1 || result.Content[0].(*mcp.TextContent).Text != want {
						t.Fatalf("got %+v, %v", result, err)
					}
					offersOfImportedPlugin(t, session)
				})
			}
		}
	}
}

// offersOfImportedPlugin checks everything but the tool.
func offersOfImportedPlugin(t *testing.T, session *mcp.ClientSession) {
	t.Helper()
	ctx := t.Context()
	prompts, err := session.ListPrompts(ctx, nil)
	if err != nil || len(prompts.Prompts) != 1 || prompts.Prompts[0].Name != "letter" {
		t.Errorf("prompts %+v, %v", prompts, err)
	}
	prompt, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "letter"})
	if err != nil || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Write a letter" {
		t.Errorf("prompt %+v, %v", prompt, err)
	}
	resources, err := session.ListResources(ctx, nil)
	if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != "tea:green" {
		t.Errorf("resources %+v, %v", resources, err)
	}
	templates, err := session.ListResourceTemplates(ctx, nil)
	if err != nil || len(templates.ResourceTemplates) != 1 || templates.ResourceTemplates[0].URITemplate != "tea:{kind}" {
		t.Errorf("templates %+v, %v", templates, err)
	}
	content, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "tea:green"})
	if err != nil || content.Contents[0].Text != "80 °C" {
		t.Errorf("content %+v, %v", content, err)
	}
	completion, err := session.Complete(ctx, &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/resource", URI: "tea:{kind}"}, Argument: mcp.CompleteParamsArgument{Name: "kind", Value: "g"},
	})
	if err != nil || len(completion.Completion.Values) != 1 || completion.Completion.Values[0] != "green" {
		t.Errorf("completion %+v, %v", completion, err)
	}
}

// TestImportChangesNoExistingDirectory imports the same module twice.
func TestImportChangesNoExistingDirectory(t *testing.T) {
	t.Parallel()
	dir := newDir(t, map[string]string{"tea.wasm": string(wasmtest.HyperMCP().Bytes()), "tea/mine": "kept"})
	cmd := exec.CommandContext(t.Context(), built.program(t), "plugin", "import", "tea.wasm")
	cmd.Dir, cmd.Env = dir, environment(t)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "exists already") {
		t.Errorf("%v, %s", err, out)
	}
	if entries, err := filepath.Glob(filepath.Join(dir, "tea", "*")); err != nil || len(entries) != 1 {
		t.Errorf("the directory has %q, %v", entries, err)
	}
	cmd = exec.CommandContext(t.Context(), built.program(t), "plugin", "import", "tea.wasm", "--name", "other", "--json")
	cmd.Dir, cmd.Env = dir, environment(t)
	var imported struct {
		Dir       string
		Interface int
		Tools     []string
		Needs     []string
	}
	if out, err = cmd.Output(); err == nil {
		err = json.Unmarshal(out, &imported)
	}
	if err != nil || imported.Dir != "other" || imported.Interface != 2 || len(imported.Tools) != 1 || len(imported.Needs) == 0 {
		t.Errorf("%v, %s", err, out)
	}
}
