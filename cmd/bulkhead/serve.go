package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/base/linequeue"
	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

func newServe() *cobra.Command {
	var o options
	var noWatch bool
	var http host.HTTPOptions
	c := &cobra.Command{
		Use:   "serve [flags]",
		Short: "Run an MCP server on stdin and stdout, or over HTTP",
		Long: `Offer the tools of all discovered plugins as one MCP server over stdio.

Without a config file a plugin gets the project and its own state directory
($XDG_STATE_HOME/bulkhead/<plugin>), nothing else. The project is --project, else
$BULKHEAD_PROJECT, else the repository that contains the working directory, else the
working directory. Desktop clients start servers in / or the home directory, which are
never granted: pass --project there.

A discovered bulkhead.toml or ./dist/plugins is used only after "bulkhead trust". Until
then the server offers nothing, and its instructions tell the client what to do.

A single plugin is served under its own name, according to its [server] table; several
are served as "bulkhead".

The server follows its config, the directory of plugins, their manifests and modules: a
change applies to new calls at once, and is rejected as a whole with a log line if it has
an error. An edited config that needs trust applies after "bulkhead trust".

SIGTERM and SIGINT shut the server down gracefully: calls in flight may finish within
[server] drain (default 1s), then they are cancelled and answered with an error. A second
signal, half a second later or more, exits immediately: many senders deliver one signal
twice. SIGHUP reloads the configuration. SIGUSR1 writes the stacks of all goroutines to
stderr. If stderr is not read, log lines are dropped and counted.

--http serves Streamable HTTP at http://ADDRESS/mcp instead, to any number of clients. At
a loopback address each user of this machine can use it, unless a bearer token is set. Any
other address needs a token, and TLS or --insecure-http. --http systemd takes the socket of
a systemd unit, and tells systemd when it is ready. [http] in the config has further
settings. /healthz and /readyz answer health checks. docs/http.md describes it all.`,
		Example: `  bulkhead serve
  bulkhead serve --plugin chant --project ~/src/app
  bulkhead serve --config team.toml --log-level debug
  bulkhead serve --http 127.0.0.1:8808 --token-file ~/.config/bulkhead/token
  bulkhead serve --http systemd --config /etc/bulkhead-server/bulkhead.toml
  echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | bulkhead serve`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.serveHTTP(&http); err != nil {
				return err
			}
			s := server{http: http, watch: !noWatch, open: o.open}
			s.reload = func(h *host.Host) error { return h.Reload(c.Context()) }
			return logged(&o, func() error {
				if http.Address != "" {
					o.tellSystemd(c.Context(), &s)
				}
				if http.Address == "" && term.IsTerminal(os.Stdin) {
					fmt.Fprintln(o.stderr, "bulkhead serve waits for the messages of an MCP client on its standard input, which is this terminal: have a client start it, with `bulkhead client add`. Ctrl-D ends it.")
				}
				return o.serve(c.Context(), s)
			})
		},
	}
	o.add(c, "info")
	addHTTPFlags(c, &http)
	c.Flags().BoolVar(&noWatch, "no-watch", false, "apply changes of the configuration after SIGHUP only")
	return c
}

// Timeouts of a graceful shutdown. Together with the timeouts of host.Host.Serve they add up to less than exitTime.
const (
	closeTime  = 2 * time.Second        // timeout for closing the host
	hurryTime  = 200 * time.Millisecond // timeout for closing the host after a signal
	stderrTime = 200 * time.Millisecond // timeout for flushing the log
	exitTime   = 2 * time.Second        // time from the end of the drain to the unconditional exit of a signalled process
)

// maxStderr bounds the log lines that wait for stderr, in bytes.
const maxStderr = 1 << 20

// heapReserve is the size, in bytes, of an allocation that a server holds and never touches, so that it takes address space only. The garbage
// collector counts it as live, and therefore lets as many bytes more of garbage pile up. Without it, a server, whose live heap is a few MiB,
// collects garbage every few hundred calls, which took a sixth of its processor time. A higher GC target would multiply a large heap, too.
const heapReserve = 8 << 20

// server describes the server that options.serve runs.
type server struct {
	http   host.HTTPOptions // Address is empty for stdio
	watch  bool             // whether changes of files are applied at once
	open   func() (*host.Host, error)
	reload func(*host.Host) error // called after SIGHUP; it logs its error
	close  func() error           // called before the host is closed; may be nil
}

// logged runs a server with a log that never blocks. Its error has already been printed.
func logged(o *options, run func() error) error {
	queue := linequeue.New(maxStderr, func(batch []byte, lost int) {
		_, _ = os.Stderr.Write(batch) // a failure of stderr cannot be reported anywhere
		if lost > 0 {
			_, _ = os.Stderr.Write(o.droppedLines(lost))
		}
	})
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), stderrTime)
		defer cancel()
		_, _ = queue.Close(ctx)
	}()
	o.stderr = queue
	if code := reportTo(queue, run()); code != exitOK {
		return exitStatus(code)
	}
	return nil
}

func (o *options) serve(ctx context.Context, s server) error {
	var opened atomic.Pointer[host.Host]
	context.AfterFunc(ctx, func() {
		wait := exitTime
		if h := opened.Load(); h != nil {
			wait += h.Drain()
		}
		time.AfterFunc(wait, func() { os.Exit(exitHost) })
	})
	reload := func() {
		if h := opened.Load(); h != nil {
			_ = s.reload(h)
		}
	}
	defer handleSignals(o.stderr, reload)()
	h, err := s.open()
	if err != nil {
		return s.end(ctx, err)
	}
	opened.Store(h)
	defer runtime.KeepAlive(make([]byte, heapReserve))
	if s.watch {
		h.Watch(ctx)
	}
	if s.http.Address != "" {
		err = h.ServeHTTP(ctx, s.http)
	} else {
		err = h.Serve(ctx, newPolled(os.Stdin), os.Stdout)
	}
	err = s.end(ctx, err)
	if cerr := closeHost(ctx, h, o.stderr); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// end calls close after the server has ended with err, and returns the error of the command.
func (s server) end(ctx context.Context, err error) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = nil // stopped by a signal
	}
	if s.close != nil {
		err = errors.Join(err, s.close())
	}
	return err
}

// closeHost closes h in bounded time. A timeout is printed, but does not fail the command.
func closeHost(ctx context.Context, h *host.Host, stderr io.Writer) error {
	wait := closeTime
	if ctx.Err() != nil {
		wait = hurryTime
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	err := h.Close(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintf(stderr, "bulkhead: %s\n", visible.Text(err.Error()))
		return nil
	}
	return err
}

// droppedLines returns the log line that reports dropped lines.
func (o *options) droppedLines(lines int) []byte {
	var out bytes.Buffer
	o.logTo(&out, hclog.Warn).Warn(fmt.Sprintf("%d lines dropped: stderr is not read", lines))
	return out.Bytes()
}
