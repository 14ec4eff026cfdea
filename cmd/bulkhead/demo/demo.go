// Package demo shows Bulkhead at work: Run builds the plugins of a checkout, serves them to an MCP client on
// a small project, and compares every answer with what it should be.
package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
	"golang.org/x/mod/modfile"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/build"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// modulePath is the first line of a checkout's go.mod.
const modulePath = "github.com/bulkhead-mcp/bulkhead"

//go:embed all:workspace
var workspace embed.FS

// Run does the whole demonstration. The conversation goes to out, progress and the server's log to progress.
func Run(ctx context.Context, out, progress io.Writer) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	plugins := filepath.Join(root, "dist", "plugins")
	if err := buildAll(ctx, root, plugins, progress); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bulkhead-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	project := filepath.Join(dir, "orchard")
	if err := layOut(project); err != nil {
		return err
	}
	if err := talk(ctx, out, progress, plugins, project, filepath.Join(dir, "state")); err != nil {
		return err
	}
	return printConfig(out, root)
}

// checkout is the root of the checkout around the working directory.
func checkout() (string, error) {
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := here; ; dir = filepath.Dir(dir) {
		if data, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && modfile.ModulePath(data) == modulePath {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", &host.UsageError{Err: fmt.Errorf("%s is in no checkout of %s: the demo builds the plugins of one, so go there first", here, modulePath)}
		}
	}
}

func buildAll(ctx context.Context, root, out string, progress io.Writer) error {
	manifests, err := filepath.Glob(filepath.Join(root, "plugins", "*", manifest.FileName))
	if err != nil {
		return err
	}
	dirs := make([]string, len(manifests))
	for i, file := range manifests {
		dirs[i] = filepath.Dir(file)
	}
	_, err = build.All(ctx, dirs, build.Options{
		Out:      out,
		Progress: func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) },
		CacheDir: host.CacheDir(host.System{}),
	})
	return err
}

// layOut writes the project that the plugins work on.
func layOut(project string) error {
	return fs.WalkDir(workspace, "workspace", func(name string, item fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(project, filepath.FromSlash(strings.TrimPrefix(name, "workspace")))
		if item.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		data, err := workspace.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// talk serves the plugins in a child process and goes through the conversation with it.
func talk(ctx context.Context, out, log io.Writer, plugins, project, state string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := client.NewStdioMCPClientWithOptions(self, []string{"XDG_STATE_HOME=" + state},
		[]string{"serve", "--plugins", plugins, "--project", project, "--log-level", "warn"},
		transport.WithCommandStderrWriter(log))
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	g := &guide{out: out, client: c, project: project}
	return errors.Join(g.conversation(ctx), c.Close())
}

// guide leads through the conversation.
type guide struct {
	out     io.Writer
	client  *client.Client
	project string
	step    int
	wrong   []error
}

func (g *guide) conversation(ctx context.Context) error {
	if err := g.greet(ctx); err != nil {
		return err
	}
	for _, s := range steps {
		if err := g.call(ctx, s); err != nil {
			return err
		}
	}
	if len(g.wrong) > 0 {
		return errors.Join(append(g.wrong, fmt.Errorf("%d of %d steps differed from what was expected", len(g.wrong), g.step))...)
	}
	fmt.Fprintf(g.out, "\nAll %d steps answered as expected.\n", g.step)
	return nil
}

// greet opens the session and lists the tools.
func (g *guide) greet(ctx context.Context) error {
	var request mcp.InitializeRequest
	request.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	request.Params.ClientInfo = mcp.Implementation{Name: "bulkhead-demo", Version: "1"}
	hello, err := g.client.Initialize(ctx, request)
	if err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	g.title("initialize", "")
	g.say(fmt.Sprintf("%s %s, protocol %s", hello.ServerInfo.Name, hello.ServerInfo.Version, hello.ProtocolVersion))

	list, err := g.client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return fmt.Errorf("tools/list: %w", err)
	}
	names := make([]string, len(list.Tools))
	for i, t := range list.Tools {
		names[i] = t.Name
	}
	g.title("tools/list", "")
	g.say(fmt.Sprintf("%d tools: %s", len(names), strings.Join(names, ", ")))
	for _, s := range steps {
		if !strings.Contains(" "+strings.Join(names, " ")+" ", " "+s.tool+" ") {
			g.differs("the tool %s is not listed", s.tool)
		}
	}
	return nil
}

// call makes one call and compares its answer.
func (g *guide) call(ctx context.Context, s step) error {
	raw, err := json.Marshal(s.arguments)
	if err != nil {
		return err
	}
	var request mcp.CallToolRequest
	request.Params.Name, request.Params.Arguments = s.tool, s.arguments
	result, err := g.client.CallTool(ctx, request)
	if err != nil {
		return fmt.Errorf("%s: %w", s.tool, err)
	}
	g.title(s.tool+" "+string(raw), s.why)
	text := ""
	for _, item := range result.Content {
		if t, ok := item.(mcp.TextContent); ok {
			text += t.Text
		}
	}
	g.say(text)
	if result.IsError != s.refused {
		g.differs("isError is %t", result.IsError)
	}
	for _, want := range s.says {
		if !strings.Contains(text, want) {
			g.differs("the answer does not say %q", want)
		}
	}
	if s.check != nil {
		if err := s.check(g.project); err != nil {
			g.differs("%v", err)
		}
	}
	return nil
}

func (g *guide) title(what, why string) {
	g.step++
	fmt.Fprintf(g.out, "\n%d. %s\n", g.step, what)
	if why != "" {
		fmt.Fprintf(g.out, "   (%s)\n", why)
	}
}

// shownLines is how much of an answer is printed.
const shownLines = 14

func (g *guide) say(text string) {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, line := range lines {
		if i == shownLines {
			fmt.Fprintf(g.out, "   │ … %d more lines\n", len(lines)-i)
			break
		}
		fmt.Fprintf(g.out, "   │ %s\n", line)
	}
}

func (g *guide) differs(format string, args ...any) {
	err := fmt.Errorf("step %d: "+format, append([]any{g.step}, args...)...)
	g.wrong = append(g.wrong, err)
	fmt.Fprintf(g.out, "   ✗ %v\n", err)
}

// printConfig shows how to make an MCP client start the server.
func printConfig(out io.Writer, root string) error {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	config := map[string]map[string]server{"mcpServers": {"bulkhead": {
		Command: filepath.Join(root, "dist", "bulkhead"),
		Args:    []string{"serve", "--project", "/path/to/your/project"},
	}}}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `
To use it from an MCP client, build the program beside the plugins,

  go build -C %s -o dist/ ./cmd/bulkhead

and give the client this configuration:

%s
`, root, text)
	return nil
}
