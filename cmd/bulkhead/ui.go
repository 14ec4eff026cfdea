package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/ui/pages"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

func newUI() *cobra.Command {
	var o options
	var port uint16
	var stay bool
	c := &cobra.Command{
		Use:   "ui [flags]",
		Short: "Show grants, refusals and the state of the installation in a browser",
		Long: `Serve pages to a browser on this machine, until Ctrl-C: what clients and plugins are
granted and by which line, what is installed, and what doctor says.

The command prints a link, which can be opened once, within 5 minutes. Only the browser that
opened it can use the pages. They change nothing: they show the commands and the lines of
the config that do, which you run in a terminal. The pages contact no other machine.

The command ends after 30 minutes without a request.

Exit codes: 0 Ctrl-C, or nothing was requested for too long; 2 usage error, or the port is
in use; 3 internal error.`,
		Example: `  bulkhead ui
  bulkhead ui --no-open --port 7777         # over ssh -L 7777:127.0.0.1:7777
  bulkhead ui --config team.toml --project ~/src/app`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			opened, err := o.complete()
			if err != nil {
				return err
			}
			if err := checkConfigExists(opened); err != nil {
				return err
			}
			l, err := ui.Listen(port)
			if errors.Is(err, syscall.EADDRINUSE) {
				return usage.Errorf("--port %d is in use: choose another, or leave it out for any that is free", port)
			}
			if err != nil {
				return err
			}
			server, err := ui.New(l, pages.Of(opened), opened.Log)
			if err != nil {
				return errors.Join(err, l.Close())
			}
			if err := printUILink(c.OutOrStdout(), server.Link()); err != nil {
				return errors.Join(err, l.Close())
			}
			if !stay {
				openBrowser(server.Link(), c.ErrOrStderr())
			}
			err = server.Serve(c.Context(), l)
			if ended := (*ui.Ended)(nil); errors.As(err, &ended) {
				fmt.Fprintf(c.ErrOrStderr(), "ended: %s\n", ended.Reason)
			}
			if ui.IsEnd(err) {
				return nil
			}
			return err
		},
	}
	// Warnings are of requests that were refused, and of plugins.
	o.add(c, "warn")
	f := c.Flags()
	f.Uint16Var(&port, "port", 0, "`port` at 127.0.0.1 (default: any that is free)")
	f.BoolVar(&stay, "no-open", false, "print the link, and do not start a browser")
	return c
}

// checkConfigExists returns an error if the config that is named does not exist. Other problems of a config are shown by the pages.
func checkConfigExists(o host.Options) error {
	source, err := discovery.FindConfig(o)
	if err != nil {
		return err
	}
	if _, err := os.Stat(source.File); errors.Is(err, fs.ErrNotExist) {
		_, err = discovery.Find(o)
		return err
	}
	return nil
}

func printUILink(w io.Writer, link string) error {
	_, err := fmt.Fprintf(w, "Open this link once, within 5 minutes. Only the browser that opens it first sees the pages:\n\n  %s\n\nCtrl-C ends it.\n", link)
	return err
}
