//go:build unix

package tests

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mcpClient is the interface of the tests to an MCP client library.
type mcpClient interface {
	// server returns the name of the server and the negotiated protocol version.
	server() (name, version string)
	tools(ctx context.Context) ([]string, error)
	// call makes a call with a progress token.
	call(ctx context.Context, tool string, arguments map[string]any) (text string, isError bool, err error)
	ping(ctx context.Context) error
	close() error
}

// TestClientLibrariesNegotiateVersions connects two client libraries with every way of negotiating a version.
func TestClientLibrariesNegotiateVersions(t *testing.T) {
	t.Parallel()
	libraries := map[string]func(t *testing.T, cmd *exec.Cmd, version string, progress chan<- string) mcpClient{
		"mcp-go": connectMCPGo,
		"go-sdk": connectGoSDK,
	}
	ways := []struct {
		name    string
		alone   bool
		request string // version that the client requests; if empty, its default
		version string // the negotiated version
	}{
		{"chant alone has no discover, client falls back to initialize", true, "", "2024-11-05"},
		{"chant alone answers a later version with its own", true, "2025-11-25", "2024-11-05"},
		{"several plugins, discover", false, "", "2026-07-28"},
		{"several plugins, initialize with 2025-11-25", false, "2025-11-25", "2025-11-25"},
		{"several plugins, initialize with 2025-06-18", false, "2025-06-18", "2025-06-18"},
		{"several plugins, initialize with 2024-11-05", false, "2024-11-05", "2024-11-05"},
	}
	for library, connect := range libraries {
		for _, way := range ways {
			t.Run(library+"/"+way.name, func(t *testing.T) {
				t.Parallel()
				project := newDir(t, map[string]string{
					goodFile:                             specText("pending", "Water the trees"),
					".chant/specs/2026-03-01-002-bbb.md": "---\nstatus: pending\ndepends_on: [" + goodID + "]\n---\n\n# Pick the apples\n",
				})
				cmd := chantCommand(t, project)
				want := "chant"
				if !way.alone {
					want = "bulkhead"
					cmd = programCommand(t, "serve", "--plugins", copyPlugins(t, "chant", "hello", "misbehave"), "--project", project)
				}
				progress := make(chan string, 10)
				c := connect(t, cmd, way.request, progress)
				if name, version := c.server(); name != want || version != way.version {
					t.Errorf("got server %s, version %s, want %s, %s", name, version, want, way.version)
				}
				checkConversation(t, c, project)
				if way.version < "2026-07-28" { // that version has no ping
					if err := c.ping(t.Context()); err != nil {
						t.Errorf("ping: %v", err)
					}
				}
				if !way.alone {
					checkProgress(t, c, progress)
					checkCancel(t, c, progress)
				}
				if err := c.close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
	}
}

// checkConversation lists tools and makes reading, writing and failing calls.
func checkConversation(t *testing.T, c mcpClient, project string) {
	t.Helper()
	ctx := t.Context()
	names, err := c.tools(ctx)
	if err != nil || len(names) < 14 || names[0] != "chant_spec_list" || names[13] != "chant_verify" {
		t.Errorf("tools: %v %q", err, names)
	}
	if slices.Contains(names, "hello_greet") != (len(names) > 14) {
		t.Errorf("tools: %q", names)
	}
	for _, one := range []struct {
		tool      string
		arguments map[string]any
		text      string
		isError   bool
	}{
		{"chant_status", map[string]any{"brief": true}, "1 pending | 1 blocked", false},
		{"chant_spec_update", map[string]any{"id": "a1b", "status": "completed", "output": "Done ✓ <b>&</b>"}, "Updated spec: " + goodID, false},
		{"chant_status", map[string]any{"brief": true}, "1 pending | 1 completed", false},
		{"chant_finalize", map[string]any{"id": "bbb"}, "Spec '2026-03-01-002-bbb' must be in_progress, completed, or failed to finalize. Current status: Pending", true},
		{"chant_spec_get", nil, "Missing required parameter: id", true},
	} {
		text, isError, err := c.call(ctx, one.tool, one.arguments)
		if err != nil || text != one.text || isError != one.isError {
			t.Errorf("%s %v: %q (error: %t) %v, want %q", one.tool, one.arguments, text, isError, err, one.text)
		}
	}
	want := "---\ntype: code\nstatus: completed\n---\n# Water the trees\n\n## Output\n\nDone ✓ <b>&</b>\n"
	if got := readFile(t, filepath.Join(project, goodFile)); got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	if _, _, err := c.call(ctx, "nope", nil); err == nil || !strings.Contains(err.Error(), "Unknown tool: nope") {
		t.Errorf("an unknown tool: %v", err)
	}
}

func checkProgress(t *testing.T, c mcpClient, progress <-chan string) {
	t.Helper()
	text, isError, err := c.call(t.Context(), "hello_greet", map[string]any{"name": "Ada", "times": 3})
	if err != nil || isError || text != "Hello, Ada!\nHello, Ada!\nHello, Ada!" {
		t.Errorf("hello_greet: %q (error: %t) %v", text, isError, err)
	}
	// A library may deliver notifications in any order.
	var got []string
	for len(got) < 3 {
		select {
		case one := <-progress:
			if !strings.HasSuffix(one, "/3") { // the host reports a long compilation, without a total
				continue
			}
			got = append(got, one)
		case <-time.After(patience):
			t.Fatalf("got %q, want three notifications", got)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{"1/3", "2/3", "3/3"}) {
		t.Errorf("progress: %q", got)
	}
}

// checkCancel cancels a running call; the server must go on.
func checkCancel(t *testing.T, c mcpClient, progress <-chan string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		<-progress
		cancel()
	}()
	if _, _, err := c.call(ctx, "misbehave_sleep", map[string]any{"ms": 3_600_000}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call: %v", err)
	}
	if text, _, err := c.call(t.Context(), "misbehave_ok", nil); err != nil || text != "ok" {
		t.Errorf("the call after it: %q %v", text, err)
	}
}

// TestProgressIsSentBeforeResult checks the order of the messages, and that a number as token keeps its digits.
func TestProgressIsSentBeforeResult(t *testing.T) {
	t.Parallel()
	s := servePlugins(t, copyPlugins(t, "hello"))
	s.send(`{"jsonrpc":"2.0","id":"call","method":"tools/call","params":{"name":"hello_greet","arguments":{"name":"Ada","times":2},"_meta":{"progressToken":9007199254740993}}}`)
	for _, want := range []string{
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9007199254740993,"progress":1,"total":2}}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9007199254740993,"progress":2,"total":2}}`,
		`{"jsonrpc":"2.0","id":"call","result":{"content":[{"type":"text","text":"Hello, Ada!\nHello, Ada!"}]}}`,
	} {
		if got := s.receive(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	s.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hello_greet","arguments":{"name":"Ada"}}}`)
	if got := s.receive(); !strings.Contains(got, `"id":2`) {
		t.Errorf("progress without a token: %s", got)
	}
	s.end()
}
