//go:build unix

package tests

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// modesClient is a client of a server whose config changes.
type modesClient struct {
	t       *testing.T
	session *mcp.ClientSession
	changed chan struct{} // of the list of tools
	config  string
	site    *heldSite
	runner  string // the directory that has the plugin script
}

// TestModeOfToolsChangesWhileClientsAreConnected edits [server] tools: clients are notified and list again, know old names, and a script that
// runs goes on.
func TestModeOfToolsChangesWhileClientsAreConnected(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2025-11-25", modernVersion} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(transport+" "+version, func(t *testing.T) {
				t.Parallel()
				c := connectModes(t, transport, version)
				c.wantTools("fetch", "get_current_time", "convert_time")
				c.want("get_current_time", `{"timezone":"UTC"}`, "UTC")
				c.want("read_tool", `{}`, "Unknown tool")

				c.setMode("search")
				c.wantTools("find_tools", "describe_tools", "read_tool")
				c.want("get_current_time", `{"timezone":"UTC"}`, "UTC") // of the old list
				c.want("read_tool", `{"name":"get_current_time","arguments":{"timezone":"UTC"}}`, "UTC")

				c.setMode("code")
				c.wantTools("find_tools", "describe_tools", "run_script")
				c.want("read_tool", `{"name":"get_current_time","arguments":{"timezone":"UTC"}}`, "Unknown tool")
				c.want("convert_time", `{}`, "did not match", "missing", "required") // called, and not unknown

				const code = "await tools.fetch({ url: args.url, raw: true });" + // during which the config changes
					"const { timezone } = await tools.get_current_time({ timezone: 'UTC' });" +
					"return [timezone, await tools.convert_time({}).catch((error) => error.message)]"
				result := make(chan string, 1)
				go func() {
					result <- c.call("run_script", jsonOf(t, map[string]any{"code": code, "arguments": map[string]string{"url": c.site.URL + "/held"}}))
				}()
				<-c.site.arrived
				c.setMode("all", "deny_tools = ['convert_time']")
				c.wantTools("fetch", "get_current_time")
				c.want("run_script", `{"code":"return 1"}`, "Unknown tool")
				c.site.release <- struct{}{}
				if got := <-result; got != `{"value":["UTC","Unknown tool: convert_time"]}` {
					t.Errorf("the script that ran while the config changed: %s", got)
				}
			})
		}
	}
}

// TestModeCodeWithoutItsPluginIsRejected edits [server] tools while the plugin script is not installed: nothing changes until it is.
func TestModeCodeWithoutItsPluginIsRejected(t *testing.T) {
	t.Parallel()
	c := newModes(t)
	s := startServer(t, c.serve(t))
	all := s.names()
	absent := filepath.Join(newDir(t, nil), "script")
	if err := os.Rename(filepath.Join(c.runner, "script"), absent); err != nil {
		t.Fatal(err)
	}
	c.writeConfig("code")
	s.waitForLog("a change of the configuration is rejected", `tools = \"code\" needs the plugin that runs scripts: `+c.runner+" contains no plugin script", "bulkhead plugin build")
	if got := s.names(); !slices.Equal(got, all) {
		t.Errorf("got the tools %q, want %q", got, all)
	}
	s.mustCall("get_current_time", `{"timezone":"UTC"}`)
	if err := os.Rename(absent, filepath.Join(c.runner, "script")); err != nil {
		t.Fatal(err)
	}
	s.waitForLog("the configuration was reloaded")
	if got := runScript(s, "return 1 + 1", nil); got.Text != `{"value":2}` {
		t.Errorf("a script after the plugin was installed: %+v", got)
	}
}

// newModes writes a config in the mode all.
func newModes(t *testing.T) *modesClient {
	t.Helper()
	c := &modesClient{t: t, changed: make(chan struct{}, 10), config: filepath.Join(newDir(t, nil), "bulkhead.toml"), site: serveHeldSite(t), runner: newDir(t, nil)}
	if err := os.CopyFS(filepath.Join(c.runner, "script"), os.DirFS(filepath.Join(otherPlugin(t, "script"), "script"))); err != nil {
		t.Fatal(err)
	}
	c.writeConfig("all")
	return c
}

func (c *modesClient) serve(t *testing.T, more ...string) *exec.Cmd {
	return programCommand(t, append([]string{"serve", "--config", c.config, "--plugins", c.runner}, more...)...)
}

func connectModes(t *testing.T, transport, version string) *modesClient {
	t.Helper()
	c := newModes(t)
	o := &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} }}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), transportsTo(c.serve)[transport](t), &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	c.session = session
	return c
}

// writeConfig writes a config with a mode, and more keys of the plugin time.
func (c *modesClient) writeConfig(mode string, more ...string) {
	c.t.Helper()
	plugins := builtPlugins(c.t, "../plugins/time", "../plugins/fetch")
	putFile(c.t, c.config, fmt.Sprintf("[server]\nname = 'x'\ntools = %q\n[[plugins]]\npath = %q\nhttp = [{ origin = %q, private = true }]\n[[plugins]]\npath = %q\n%s\n",
		mode, filepath.Join(plugins, "fetch"), c.site.URL, filepath.Join(plugins, "time"), strings.Join(more, "\n")))
}

// setMode changes the config and waits for the notification.
func (c *modesClient) setMode(mode string, more ...string) {
	c.t.Helper()
	c.writeConfig(mode, more...)
	select {
	case <-c.changed:
	case <-time.After(patience):
		c.t.Fatalf("no notification of the mode %s", mode)
	}
}

func (c *modesClient) wantTools(want ...string) {
	c.t.Helper()
	result, err := c.session.ListTools(c.t.Context(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	var got []string
	for _, tool := range result.Tools {
		got = append(got, tool.Name)
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("got the tools %q, want %q", got, want)
	}
}

// want calls a tool, whose text or error must contain one of the texts.
func (c *modesClient) want(tool, arguments string, texts ...string) {
	c.t.Helper()
	got := c.call(tool, arguments)
	if !slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(got, text) }) {
		c.t.Errorf("%s: got %s, want %q", tool, got, texts)
	}
}

func (c *modesClient) call(tool, arguments string) string {
	c.t.Helper()
	result, err := c.session.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: decodeJSON(c.t, arguments)})
	if err != nil {
		return err.Error()
	}
	return result.Content[0].(*mcp.TextContent).Text
}
