package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func newServe() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Be an MCP server on stdin and stdout",
		Long: `Offer the tools of all plugins that are found as one MCP server over stdio.

Without a config file a plugin gets the project's folder and a state folder of its own
($XDG_STATE_HOME/bulkhead/<plugin>), nothing else. The project is --project, else
$BULKHEAD_PROJECT, else the repository around the working directory, else the working
directory. MCP clients on desktops start servers in / or the home folder, which are never
granted: pass --project there.

A bulkhead.toml or ./dist/plugins that nobody named is obeyed once "bulkhead trust" has
recorded it; until then the server offers nothing, and tells the client how to change that.

One plugin alone is served under its own name and in the way of its own [server] table;
several are served as "bulkhead".`,
		Example: `  bulkhead serve
  bulkhead serve --plugin chant --project ~/src/app
  bulkhead serve --config team.toml --log-level debug
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | bulkhead serve`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			h, err := o.open()
			if err != nil {
				return err
			}
			err = h.Serve(c.Context(), os.Stdin, os.Stdout)
			if cerr := h.Close(context.WithoutCancel(c.Context())); cerr != nil && err == nil {
				err = cerr
			}
			if errors.Is(err, context.Canceled) && c.Context().Err() != nil {
				return nil // asked to stop by a signal
			}
			if err != nil {
				return fmt.Errorf("serve: %w", err)
			}
			return nil
		},
	}
	o.ServeNothing = true
	o.add(c, "info")
	return c
}
