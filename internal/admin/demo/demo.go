// Package demo demonstrates Bulkhead: Run builds the plugins of a checkout, starts a server of them in a temporary home
// directory and project as soon as the first one is built, sends it the requests of the table in steps.go, and compares
// every answer with the expected one.
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
	"time"

	"golang.org/x/mod/modfile"

	clients "github.com/bulkhead-mcp/bulkhead/internal/admin/client"
	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// modulePath is the module path in the go.mod of a checkout.
const modulePath = "github.com/bulkhead-mcp/bulkhead"

//go:embed all:workspace
var workspace embed.FS

// repeatInterval is the interval at which a build that takes long is reported on a stream whose lines are not redrawn.
const repeatInterval = 10 * time.Second

// Run runs the demonstration. The conversation goes to out; build progress and the log of the server go to stderr. Each plugin is
// called as soon as it is built, while the next ones are built.
func Run(ctx context.Context, out, stderr io.Writer) (err error) {
	root, err := checkout()
	if err != nil {
		return err
	}
	fmt.Fprintf(out, `This builds the %d plugins of the checkout, starts a server of them in a temporary home directory, and
calls each as soon as it is built, as an MCP client would. With empty caches the first build takes the
longest: it compiles Go's standard library for WebAssembly.
`, len(chapters))
	tasks := progress.New(stderr, nil)
	if term.CanRedraw(out) { // else out may be a program that prints on the same terminal
		tasks = progress.To(stderr)
	}
	defer tasks.Close()
	tasks.RepeatSteps(repeatInterval)
	temp, err := tempdir.New("demo")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, temp.Remove()) }()
	dir := temp.Path
	if err := writeWorkspace(dir); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	plugins := filepath.Join(root, "dist", "plugins")
	b := startBuilds(ctx, root, plugins, tasks)
	err = converse(ctx, tasks.Above(out), tasks, plugins, dir, b.await)
	if err != nil {
		cancel() // has no effect on builds that have failed
	}
	if err := errors.Join(b.wait(), err); err != nil {
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
			return "", &usage.Error{Err: fmt.Errorf("%s is not in a checkout of %s: the demo builds the plugins of a checkout, so change to its directory first", here, modulePath)}
		}
	}
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

// converse starts the server in a child process when the first plugin is built, and runs the conversation with it.
func converse(ctx context.Context, out, log io.Writer, plugins, dir string, await func(plugin int) bool) error {
	if !await(0) {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	home, project := filepath.Join(dir, "home"), filepath.Join(dir, "orchard")
	env := []string{"PLUGINS=" + plugins, "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(dir, "state")}
	if cache, err := discovery.CacheDir(discovery.System{}); cache != "" && err == nil {
		env = append(env, "XDG_CACHE_HOME="+filepath.Dir(cache)) // the cache that the build has filled
	}
	c := config{file: filepath.Join(dir, configName)}
	if err := c.serve(1); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "serve", "--config", c.file, "--project", project, "--log-level", "warn")
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), log
	client, err := start(cmd)
	if err != nil {
		return fmt.Errorf("cannot start the server: %w", err)
	}
	r := &runner{out: out, client: client, dir: dir, await: await, serve: c.serve, values: map[string]string{"${registry}": filepath.Join(home, "registry")}}
	return errors.Join(r.run(), client.close())
}

// configName is the name of the server's config in the workspace.
const configName = "bulkhead.toml"

// config is the server's config.
type config struct{ file string }

// serve has the server serve the plugins of the first chapters. It replaces the config atomically, since the server watches it.
func (c config) serve(plugins int) error {
	text, err := workspace.ReadFile("workspace/" + configName)
	if err != nil {
		return err
	}
	const table = "[[plugins]]\n"
	parts := strings.SplitAfter(string(text), table)
	served := strings.TrimSuffix(strings.Join(parts[:plugins+1], ""), table)
	if err := os.WriteFile(c.file+".new", []byte(served), 0o644); err != nil {
		return err
	}
	return os.Rename(c.file+".new", c.file)
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
