// Command bulkhead serves tools that run as sandboxed WebAssembly modules to MCP clients.
//
// Each command is a file of this directory, named for it (plugin_new.go is `bulkhead plugin new`). It maps flags to a call of package host,
// or of one in internal/admin or internal/authoring, and prints the result. Standard output is for results, and for the protocol while
// serving; logs and progress go to standard error.
//
// What commands share is in files of their own: options.go (flags, and the host that they open), mistyped.go (groups of commands, and remedies for what does not exist), arguments.go and form.go (the arguments of
// a tool), complete.go (shell completion), output.go and style.go (results, JSON, colours), question.go, ask.go and stdin_*.go (questions
// to the user), notifications.go (progress of a call), review.go, setup.go and inforce.go (what a plugin may access, and what is created
// and in force), recording.go (scenarios), signals_*.go and dump_unix.go (ending, and a dump of goroutines).
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Exit codes.
const (
	exitOK    = 0
	exitTool  = 1 // the tool answered with an error
	exitNo    = 1 // the result is negative: a pinned file has changed, a check failed, consent was refused
	exitUsage = 2 // usage error: invalid flags, arguments, config or plugin
	exitHost  = 3 // the host failed
)

func main() {
	host.RunChild()
	ignoreBrokenPipes()
	os.Exit(run(untilSignal(), os.Args[1:]))
}

// untilSignal returns a context that the first SIGINT or SIGTERM cancels. A further signal exits immediately, unless it is a repetition of
// the first one: see repeatTime.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { os.Exit(awaitSecondSignal(signals, cancel)) }()
	return ctx
}

// repeatTime is the time after the first signal in which further signals count as repetitions of the first. Many senders signal a
// process and then its process group, or forward a signal that the terminal has already sent to the whole group.
const repeatTime = 500 * time.Millisecond

// awaitSecondSignal calls cancel at the first signal. At the next signal that is not a repetition, it returns the exit code.
func awaitSecondSignal(signals <-chan os.Signal, cancel func()) int {
	<-signals
	first := time.Now()
	cancel()
	for s := range signals {
		if number, ok := s.(syscall.Signal); ok && time.Since(first) >= repeatTime {
			return 128 + int(number)
		}
	}
	return exitHost
}

// run executes one command line.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	return report(root.ExecuteContext(ctx))
}

// exitStatus is an error whose reason has already been printed: only the exit code is left to report.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit code %d", int(s)) }

// report prints an error to stderr and returns the exit code.
func report(err error) int {
	if isClosedOutput(err) {
		return exitHost // no message, as for a program that SIGPIPE ends
	}
	return reportTo(os.Stderr, err)
}

// isClosedOutput reports whether err means that the reader of standard output, for example head, has closed the pipe.
func isClosedOutput(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && failed.Path == os.Stdout.Name() && errors.Is(failed.Err, syscall.EPIPE)
}

// reportTo prints an error to w and returns the exit code.
func reportTo(w io.Writer, err error) int {
	var code exitStatus
	var correctable *usage.Error
	var problems tomlfile.Problems
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(w, "%s %s\n", paint(term.StyleOf(w), "bulkhead:"), visible.Text(err.Error()))
	if errors.As(err, &correctable) || errors.As(err, &problems) {
		return exitUsage
	}
	return exitHost
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "bulkhead",
		Short: "Serve sandboxed tools to MCP clients",
		Long: `Bulkhead is an MCP host. It loads tools as sandboxed WebAssembly modules, each
described by a manifest, and offers them to an MCP client as one server.

A plugin gets what its manifest asks for and you grant, and nothing else.

Colours and progress that is redrawn appear on terminals only. NO_COLOR turns colours
off, CLICOLOR_FORCE=1 on.

Exit codes: 0 success; 1 a tool answered with an error, or the result is negative;
2 usage error, or an invalid plugin or config; 3 internal error of the host.`,
		Example: `  bulkhead init                                   # prepare a project: choose plugins, and try them
  bulkhead client add claude-code                 # have a client start the server
  bulkhead tools                                  # what clients are offered, and why not more
  bulkhead call chant_spec_list --arg limit=5     # one call
  bulkhead policy chant --path .env               # what a plugin can reach, and why
  bulkhead doctor                                 # what is wrong, and what to do
  bulkhead plugin new notes                       # write a plugin`,
		Version:       readVersion().String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = false
	cobra.EnableCommandSorting = false // the help lists commands in the order in which they are first needed
	addGroup(root, "Use it:", newInit(), newClient(), newTools(), newCall(), newPrompt(), newResource(), newServe())
	addGroup(root, "Administer it:", newDoctor(), newPolicy(), newUI(), newSearch(), newAdd(), newUpdate(), newDiff(), newTrust(), newVerify(), newRemove(), newAudit(), newReplay(), newCache(), newWarm(), newToken())
	addGroup(root, "Write plugins:", newPlugin(), newDemo())
	root.AddCommand(newVersion())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return invalidUsage(c, err, similarFlag(c, err))
	})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	rejectUnknownTopics(root)
	completePaths(root)
	wrapArgErrors(root)
	return root
}

// rejectUnknownTopics makes two requests fail with a usage error: help for an unknown command, and completion for an
// unknown shell. cobra answers both with a help text and success.
func rejectUnknownTopics(root *cobra.Command) {
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return invalidUsage(root, fmt.Errorf("unknown command %q", strings.Join(args, " ")), similarCommand(found, rest))
				}
				return nil
			}
		case "completion":
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}
