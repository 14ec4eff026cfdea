// Command bulkhead serves tools that run as sandboxed WebAssembly modules to MCP clients.
//
// Each command is a file of this folder that maps flags to a call of package host (or host/build) and
// prints what comes back. Standard output belongs to results, and while serving to the protocol; logs and
// progress go to standard error.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/visible"
)

// Exit codes.
const (
	exitOK    = 0
	exitTool  = 1 // the tool answered with an error
	exitNo    = 1 // what was asked has the answer no: something pinned has changed, a check failed
	exitUsage = 2 // wrong usage: flags, arguments, config, or a plugin that cannot be used as it is
	exitHost  = 3 // the host failed
)

func main() {
	host.RunChild()
	// A client that is gone is an error of the next write, which ends calls in order; the signal would
	// end the process in the middle of them.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(untilSignal(), os.Args[1:]))
}

// untilSignal is a context that ends with the first SIGINT or SIGTERM. A second one ends the process at once.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		if second, ok := (<-signals).(syscall.Signal); ok {
			os.Exit(128 + int(second))
		}
	}()
	return ctx
}

// run executes one command line.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	return report(root.ExecuteContext(ctx))
}

// silent is an exit code whose reason has been printed already.
type silent int

func (s silent) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// report prints an error to stderr and chooses the exit code.
func report(err error) int { return reportTo(os.Stderr, err) }

// reportTo prints an error and chooses the exit code.
func reportTo(w io.Writer, err error) int {
	var code silent
	var usage *host.UsageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(w, "bulkhead: %s\n", visible.Text(err.Error()))
		return exitUsage
	}
	fmt.Fprintf(w, "bulkhead: %s\n", visible.Text(err.Error()))
	return exitHost
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "bulkhead",
		Short: "Serve sandboxed tools to MCP clients",
		Long: `Bulkhead is an MCP host. It loads tools as sandboxed WebAssembly modules, each
described by a manifest, and offers them to an MCP client as one server.

A plugin gets what its manifest asks for as far as you grant it, and nothing else.

Exit codes: 0 success; 1 a tool answered with an error, or what was asked has the answer
no; 2 wrong usage, or a plugin or config with faults; 3 the host failed.`,
		Example: `  bulkhead demo                                   # see it work, in a checkout
  bulkhead plugin build plugins/chant             # compile a plugin to dist/plugins/chant
  bulkhead add dist/plugins/chant                 # review it, and grant what it asks for
  bulkhead tools                                  # what would be offered
  bulkhead call chant_spec_list --arg limit=5     # one call
  bulkhead serve --plugin chant                   # an MCP server on stdin and stdout`,
		Version:       version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("bulkhead {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	root.AddCommand(newServe(), newTools(), newCall(), newPrompt(), newResource(), newPlugin(), newDemo())
	root.AddCommand(newAdd(), newRemove(), newVerify(), newPolicy(), newDiff(), newDoctor(), newWarm(), newTrust())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &host.UsageError{Err: fmt.Errorf("%w: see `%s --help`", err, c.CommandPath())}
	})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	refuseUnknownTopics(root)
	asUsage(root)
	return root
}

// refuseUnknownTopics makes wrong usage of what the library's own commands answer with a help text: the
// help of a command that there is not, and the completion for a shell that it does not know.
func refuseUnknownTopics(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return fmt.Errorf("there is no command %q", strings.Join(args, " "))
				}
				return nil
			}
		case "completion":
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

// asUsage makes wrong arguments of every command wrong usage.
func asUsage(c *cobra.Command) {
	if check := c.Args; check != nil {
		c.Args = func(c *cobra.Command, args []string) error {
			if err := check(c, args); err != nil {
				return &host.UsageError{Err: fmt.Errorf("%w: see `%s --help`", err, c.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range c.Commands() {
		asUsage(sub)
	}
}

// version is that of the module when it was installed by version, and otherwise says so.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "0.0.0-dev"
}
