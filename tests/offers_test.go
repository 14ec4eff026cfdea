//go:build unix

package tests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notifiedClient is a client of the official Go SDK that records change notifications.
type notifiedClient struct {
	*mcp.ClientSession
	changes chan string // "prompts", "resources", or the URI of an updated resource
}

// connectNotified serves plugins and connects to them; an empty version selects the default of the client.
func connectNotified(t *testing.T, version string, plugins []string, args ...string) notifiedClient {
	t.Helper()
	changes := make(chan string, 100)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		PromptListChangedHandler:   func(context.Context, *mcp.PromptListChangedRequest) { changes <- "prompts" },
		ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { changes <- "resources" },
		ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { changes <- r.Params.URI },
	})
	cmd := programCommand(t, append([]string{"serve", "--plugins", copyPlugins(t, plugins...)}, args...)...)
	session, err := c.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return notifiedClient{session, changes}
}

// waitForChange waits for a change notification.
func (c notifiedClient) waitForChange(t *testing.T, want string) {
	t.Helper()
	for end := time.After(patience); ; {
		select {
		case got := <-c.changes:
			if got == want {
				return
			}
		case <-end:
			t.Fatalf("no notification of %s", want)
		}
	}
}

// mustCall makes a call that must succeed.
func (c notifiedClient) mustCall(t *testing.T, tool string, arguments map[string]any) {
	t.Helper()
	result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil || result.IsError {
		t.Fatalf("%s %v: %v %+v", tool, arguments, err, result)
	}
}

func TestPromptsAndResourcesCreatedByCalls(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "2025-11-25", "2024-11-05"} {
		t.Run("asked for "+version, func(t *testing.T) {
			t.Parallel()
			c := connectNotified(t, version, []string{"mcpkg", "hello"}, "--project", newDir(t, nil), "--env", "MCPKG_PROJECT=p")
			ctx := t.Context()
			if got := c.InitializeResult(); version == "" && got.ProtocolVersion != "2026-07-28" || !got.Capabilities.Prompts.ListChanged || !got.Capabilities.Resources.ListChanged ||
				!got.Capabilities.Resources.Subscribe || got.Capabilities.Completions != nil || got.Capabilities.Tools == nil {
				t.Errorf("%s %+v", got.ProtocolVersion, got.Capabilities)
			}
			list, err := c.ListPrompts(ctx, nil)
			if err != nil || len(list.Prompts) != 0 {
				t.Errorf("at first: %v %+v", err, list)
			}
			c.mustCall(t, "create_prompt", map[string]any{"name": "greet", "content": "Say hello <&>", "description": "d"})
			c.waitForChange(t, "prompts")
			prompt, err := c.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"})
			if err != nil || len(prompt.Messages) != 1 || prompt.Messages[0].Content.(*mcp.TextContent).Text != "Say hello <&>" {
				t.Errorf("prompts/get: %v %+v", err, prompt)
			}
			c.mustCall(t, "create_resource", map[string]any{"name": "logo", "uri": "file:///logo.png", "mime_type": "image/png", "content": "iVBORw0KGgo="})
			c.waitForChange(t, "resources")
			if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: "file:///logo.png"}); err != nil {
				t.Errorf("subscribe: %v", err)
			}
			c.mustCall(t, "update_resource", map[string]any{"name": "logo", "content": "iVBORw0KGgo="})
			c.waitForChange(t, "file:///logo.png")
			read, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///logo.png"})
			if err != nil || len(read.Contents) != 1 || string(read.Contents[0].Blob) != "\x89PNG\r\n\x1a\n" {
				t.Errorf("resources/read: %v %+v", err, read)
			}
			if _, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "file:///etc/passwd"}); err == nil || !strings.Contains(err.Error(), "not found in project 'p'") {
				t.Errorf("a resource that does not exist: %v", err)
			}
			c.mustCall(t, "delete_prompt", map[string]any{"name": "greet"})
			c.waitForChange(t, "prompts")
			if list, err := c.ListPrompts(ctx, nil); err != nil || len(list.Prompts) != 0 {
				t.Errorf("in the end: %v %+v", err, list)
			}
		})
	}
}

// Lists of a plugin that is served alone have no pages: see TestMcpkgServedAloneDoesNotPaginate.
func TestLongListsArePaginated(t *testing.T) {
	t.Parallel()
	c := connectNotified(t, "", []string{"mcpkg", "hello"}, "--all-tools", "--project", newDir(t, nil), "--env", "MCPKG_PROJECT=p")
	var want, prompts []string
	for i := range 620 {
		name := fmt.Sprintf("prompt-%d", i)
		want = append(want, name)
		prompts = append(prompts, fmt.Sprintf(`{"name":%q,"content":"x"}`, name))
	}
	c.mustCall(t, "import_project", map[string]any{
		"content": `{"format":"mcpkg-project","version":1,"name":"p","prompts":[` + strings.Join(prompts, ",") + `],"resources":[]}`})
	first, err := c.ListPrompts(t.Context(), nil)
	if err != nil || len(first.Prompts) != 500 || first.NextCursor == "" {
		t.Fatalf("first page: %v, %d prompts, cursor %q", err, len(first.Prompts), first.NextCursor)
	}
	// A deletion between pages must not shift the next page.
	c.mustCall(t, "delete_prompt", map[string]any{"name": "prompt-499"})
	second, err := c.ListPrompts(t.Context(), &mcp.ListPromptsParams{Cursor: first.NextCursor})
	if err != nil || second.NextCursor != "" {
		t.Fatalf("second page: %v %q", err, second.NextCursor)
	}
	var got []string
	for _, p := range slices.Concat(first.Prompts, second.Prompts) {
		got = append(got, p.Name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %d prompts, want %d", len(got), len(want))
	}
	if _, err := c.ListPrompts(t.Context(), &mcp.ListPromptsParams{Cursor: "made up"}); err == nil || !strings.Contains(err.Error(), "unknown cursor") {
		t.Errorf("an unknown cursor: %v", err)
	}
}

// TestClaimedResourcesAreServed lists, reads, completes and subscribes to resources that a plugin claims, with both
// generations of the protocol, and checks change notifications.
func TestClaimedResourcesAreServed(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "2025-06-18"} {
		t.Run("asked for "+version, func(t *testing.T) {
			t.Parallel()
			project := newDir(t, map[string]string{
				"openspec/specs/auth/login/spec.md": "# Login\n\n## Purpose\nPeople prove who they are before they see anything of theirs.\n\n## Requirements\n\n### Requirement: Password\nThe system SHALL ask for a password.\n\n#### Scenario: Right\n- **WHEN** it is right\n- **THEN** they are in\n",
			})
			c := connectNotified(t, version, []string{"openspec", "mcpkg"}, "--project", project, "--env", "MCPKG_PROJECT=p")
			ctx := t.Context()
			if got := c.InitializeResult().Capabilities; !got.Resources.Subscribe || !got.Resources.ListChanged || got.Completions == nil {
				t.Errorf("%+v", got)
			}
			if prompts := c.names(t); !slices.Equal(prompts, []string{"proposal", "apply", "archive"}) {
				t.Errorf("prompts: %q", prompts)
			}
			templates, err := c.ListResourceTemplates(ctx, nil)
			if err != nil || len(templates.ResourceTemplates) == 0 {
				t.Errorf("templates: %v", err)
			}
			completed, err := c.Complete(ctx, &mcp.CompleteParams{
				Ref:      &mcp.CompleteReference{Type: "ref/resource", URI: "openspec://specs/{+id}"},
				Argument: mcp.CompleteParamsArgument{Name: "id", Value: "au"},
			})
			if err != nil || !slices.Contains(completed.Completion.Values, "auth/login") {
				t.Errorf("completion: %v %+v", err, completed)
			}
			read, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: "openspec://specs/auth/login"})
			if err != nil || len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, "### Requirement: Password") {
				t.Errorf("read: %v %+v", err, read)
			}
			for _, uri := range []string{"openspec://specs/../../../etc/passwd", "openspec://specs/auth%2Flogin", "openspec://specs/none"} {
				if got, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri}); err == nil {
					t.Errorf("%s was read: %+v", uri, got)
				}
			}
			if err := c.Subscribe(ctx, &mcp.SubscribeParams{URI: "openspec://changes"}); err != nil {
				t.Errorf("subscribe: %v", err)
			}
			c.mustCall(t, "openspec_create_change", map[string]any{"name": "add-otp"})
			c.waitForChange(t, "resources")
			c.waitForChange(t, "openspec://changes")
			// A prompt created at call time cannot take a claimed name.
			result, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "create_prompt", Arguments: map[string]any{"name": "proposal", "content": "mine"}})
			if err != nil || !result.IsError || !strings.Contains(result.Content[0].(*mcp.TextContent).Text, "belongs to another plugin") {
				t.Errorf("a prompt that shadows: %v %+v", err, result)
			}
		})
	}
}

// names lists the prompt names.
func (c notifiedClient) names(t *testing.T) []string {
	t.Helper()
	list, err := c.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range list.Prompts {
		names = append(names, p.Name)
	}
	return names
}
