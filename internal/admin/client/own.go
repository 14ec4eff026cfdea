package client

import (
	"context"
	"os/exec"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// ownCommand is a client's own command for the entries of the user. It is used to add and remove an entry, if it is installed and
// preserves the rest of the file. An existing entry is edited in place, since the command would drop what the user has added to it.
type ownCommand struct {
	program string
	add     func(name string, e Entry) []string // nil: it is not used for the entry
	remove  func(name string) []string
	keeps   func(data []byte) bool // reports whether the command preserves the rest of a file
}

// ownTimeout bounds the run time of a client's command.
const ownTimeout = time.Minute

// setCommand sets the command that makes the change, if there is one.
func (c *Change) setCommand(args func(own *ownCommand) []string) {
	own := c.client.own
	if own == nil || c.Scope != UserScope || !own.keeps(c.file.Data) {
		return
	}
	if path, err := c.system.LookPath(own.program); err == nil {
		if args := args(own); args != nil {
			c.Command = append([]string{path}, args...)
		}
	}
}

// runCommand runs the client's command, which makes the change, and checks that the file then contains the change.
func (c *Change) runCommand(ctx context.Context) error {
	if err := c.file.CheckUnchanged(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, ownTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Command[0], c.Command[1:]...)
	cmd.Dir = c.system.Home // in the directory of a project, the command would read the project's configuration
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		err = c.verify()
	}
	if err != nil {
		const most = 400
		return usage.Errorf("`%s %s %s` of %s failed: %w: %s\n  remedy: run the command yourself, or remove its program from PATH: then bulkhead edits the client's configuration file", c.client.own.program, c.Command[1], c.Command[2], c.Title, err, visible.Bounded(string(out), most))
	}
	return nil
}

// CommandLine returns the command for a person, "" if there is none.
func (c *Change) CommandLine() string {
	if c.Command == nil {
		return ""
	}
	line := c.client.own.program
	for _, arg := range c.Command[1:] {
		line += " " + visible.ShellWord(arg)
	}
	return line
}

// AddLine returns the command line that adds the server to this client. config and plugins are paths, empty if unset.
func (c *Client) AddLine(config, plugins string) string {
	line := "bulkhead client add " + c.ID
	if config != "" {
		line += " --config " + visible.ShellWord(config)
	}
	if plugins != "" {
		line += " --plugins " + visible.ShellWord(plugins)
	}
	return line
}
