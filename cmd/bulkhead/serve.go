package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/cmd/bulkhead/asynclog"
	"github.com/bulkhead-mcp/bulkhead/host"
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
several are served as "bulkhead".

SIGTERM and SIGINT end the server in order: calls in flight get the time of [server] drain
(1s), then they are cancelled and answered with an error. A second signal ends it at once.
SIGHUP is ignored, and SIGUSR1 writes the stacks of all goroutines to stderr. Lines of the
log that nobody reads are dropped and counted.`,
		Example: `  bulkhead serve
  bulkhead serve --plugin chant --project ~/src/app
  bulkhead serve --config team.toml --log-level debug
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | bulkhead serve`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return serve(c.Context(), &o)
		},
	}
	o.ServeNothing = true
	o.add(c, "info")
	return c
}

// Bounds of an end in order, which together with those of host.Host.Serve make less than exitTime.
const (
	closeTime  = 2 * time.Second        // for releasing what the host holds
	hurryTime  = 200 * time.Millisecond // the same after a signal
	stderrTime = 200 * time.Millisecond // for writing what is left of the log
	exitTime   = time.Second            // after the drain, at which a signal ends the process whatever hangs
)

// serve serves with a log that never blocks. What it returns has been printed.
func serve(ctx context.Context, o *options) error {
	queue := asynclog.New(os.Stderr, o.droppedLines)
	defer queue.Close(stderrTime)
	o.stderr = queue
	if code := reportTo(queue, o.serve(ctx)); code != exitOK {
		return silent(code)
	}
	return nil
}

func (o *options) serve(ctx context.Context) error {
	var drain atomic.Int64 // nothing is served before the host is open
	context.AfterFunc(ctx, func() {
		time.AfterFunc(time.Duration(drain.Load())+exitTime, func() { os.Exit(exitHost) })
	})
	defer handleSignals(o.stderr)()
	h, err := o.open()
	if err != nil {
		return err
	}
	drain.Store(int64(h.Drain()))
	err = h.Serve(ctx, os.Stdin, os.Stdout)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // asked to stop by a signal
	}
	if cerr := closeHost(ctx, h, o.stderr); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// closeHost closes h in bounded time. What was not waited for is no failure of the command, and only printed.
func closeHost(ctx context.Context, h *host.Host, stderr io.Writer) error {
	wait := closeTime
	if ctx.Err() != nil {
		wait = hurryTime
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	err := h.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(stderr, "bulkhead: %v\n", err)
		return nil
	}
	return err
}

// droppedLines is the line of the log that reports lines that nobody read.
func (o *options) droppedLines(lines int) []byte {
	var out bytes.Buffer
	o.logTo(&out, hclog.Warn).Warn(fmt.Sprintf("%d lines dropped: stderr is not read", lines))
	return out.Bytes()
}
