// Package demo shows Bulkhead at work: Run builds the plugins of a checkout, serves them to an MCP client in a
// home folder of its own, and compares every answer with what it should be. The client has one thing to say with
// each plugin after the other; the table of that is in steps.go.
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
	"os/exec"
	"path/filepath"
	"strings"

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
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if err := layOut(dir); err != nil {
		return err
	}
	if err := talk(ctx, out, progress, plugins, dir); err != nil {
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
	cache, err := host.CacheDir(host.System{})
	if err != nil {
		fmt.Fprintf(progress, "compiled modules are not kept: %v\n", err)
		cache = ""
	}
	_, err = build.All(ctx, dirs, build.Options{
		Out:      out,
		Progress: func(format string, args ...any) { fmt.Fprintf(progress, format+"\n", args...) },
		CacheDir: cache,
	})
	return err
}

// layOut writes what the plugins work on: a home folder, a project and the config.
func layOut(dir string) error {
	return fs.WalkDir(workspace, "workspace", func(name string, item fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(name, "workspace")))
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
func talk(ctx context.Context, out, log io.Writer, plugins, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "orchard")
	env := []string{"PLUGINS=" + plugins, "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(dir, "state")}
	if cache, err := host.CacheDir(host.System{}); cache != "" && err == nil {
		env = append(env, "XDG_CACHE_HOME="+filepath.Dir(cache)) // where the build has compiled the modules to
	}
	cmd := exec.CommandContext(ctx, self, "serve", "--config", filepath.Join(dir, "bulkhead.toml"), "--project", project, "--log-level", "warn")
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), log
	c, err := start(cmd)
	if err != nil {
		return fmt.Errorf("start the server: %w", err)
	}
	g := &guide{out: out, client: c, dir: dir, values: map[string]string{"${registry}": filepath.Join(home, "registry")}}
	return errors.Join(g.conversation(), c.close())
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
What the plugins were granted is in cmd/bulkhead/demo/workspace/bulkhead.toml.
To use them from an MCP client, build the program beside them,

  go build -C %s -o dist/ ./cmd/bulkhead

and give the client this configuration:

%s
`, root, text)
	return nil
}
