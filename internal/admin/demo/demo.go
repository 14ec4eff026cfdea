// Package demo demonstrates Bulkhead: Run builds the plugins of a checkout, starts a server of them in a temporary home
// directory and project, sends it the requests of the table in steps.go, and compares every answer with the expected
// one.
package demo

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	clients "github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// modulePath is the module path in the go.mod of a checkout.
const modulePath = "github.com/bulkhead-mcp/bulkhead"

//go:embed all:workspace
var workspace embed.FS

// Run runs the demonstration. The conversation goes to out; build progress and the log of the server go to stderr.
func Run(ctx context.Context, out, stderr io.Writer) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	plugins := filepath.Join(root, "dist", "plugins")
	if err := buildAll(ctx, root, plugins, stderr); err != nil {
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
	if err := writeWorkspace(dir); err != nil {
		return err
	}
	if err := converse(ctx, out, stderr, plugins, dir); err != nil {
		return err
	}
	return printConfig(out, root)
}

// checkout returns the root of the checkout that contains the working directory.
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
			return "", &discovery.UsageError{Err: fmt.Errorf("%s is not in a checkout of %s: the demo builds the plugins of a checkout, so change to its directory first", here, modulePath)}
		}
	}
}

func buildAll(ctx context.Context, root, out string, stderr io.Writer) error {
	manifests, err := filepath.Glob(filepath.Join(root, "plugins", "*", manifest.FileName))
	if err != nil {
		return err
	}
	dirs := make([]string, len(manifests))
	for i, file := range manifests {
		dirs[i] = filepath.Dir(file)
	}
	cache, err := discovery.CacheDir(discovery.System{})
	if err != nil {
		fmt.Fprintf(stderr, "compiled modules are not cached: %v\n", err)
		cache = ""
	}
	tasks := progress.To(stderr)
	defer tasks.Close()
	_, err = build.All(ctx, dirs, build.Options{Out: out, Progress: tasks, CacheDir: cache})
	return err
}

// writeWorkspace creates the home directory, the project and the config below dir.
func writeWorkspace(dir string) error {
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

// converse starts the server in a child process, and runs the conversation with it.
func converse(ctx context.Context, out, log io.Writer, plugins, dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "orchard")
	env := []string{"PLUGINS=" + plugins, "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(dir, "state")}
	if cache, err := discovery.CacheDir(discovery.System{}); cache != "" && err == nil {
		env = append(env, "XDG_CACHE_HOME="+filepath.Dir(cache)) // the cache that the build has filled
	}
	cmd := exec.CommandContext(ctx, self, "serve", "--config", filepath.Join(dir, "bulkhead.toml"), "--project", project, "--log-level", "warn")
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), log
	c, err := start(cmd)
	if err != nil {
		return fmt.Errorf("cannot start the server: %w", err)
	}
	r := &runner{out: out, client: c, dir: dir, values: map[string]string{"${registry}": filepath.Join(home, "registry")}}
	return errors.Join(r.run(), c.close())
}

// printConfig prints the configuration with which an MCP client starts the server.
func printConfig(out io.Writer, root string) error {
	program := filepath.Join(root, "dist", "bulkhead")
	c, err := clients.Find("claude-desktop")
	if err != nil {
		return err
	}
	text, err := c.Render(clients.DefaultName, clients.Entry{Command: program, Args: []string{"serve", "--project", "/path/to/your/project"}})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `
The grants of the plugins are in internal/admin/demo/workspace/bulkhead.toml.
To use the plugins, build the program, prepare your project, and add the server to your client:

  go build -C %[1]s -o dist/ ./cmd/bulkhead
  cd /path/to/your/project
  %[2]s init
  %[2]s client add claude-code

The configuration of most clients then has this entry:

%[3]s
`, root, program, text)
	return nil
}
