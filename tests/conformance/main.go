// Command conformance runs the official conformance suites of MCP against one server, which serves examples/everything over
// HTTP on loopback. It prints a table, and exits with 1 if a check failed that exceptions.json does not list, or if an
// exception is no longer needed. docs/mcp-conformance.md describes it; .ci/conformance installs the suites and calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/bulkhead-mcp/bulkhead/host"
)

func main() {
	host.RunChild()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var c command
	flag.StringVar(&c.program, "program", "", "test this `program`, such as that of a release, and not the host in this one")
	flag.StringVar(&c.plugins, "plugins", "", "`directory` with the built plugin everything")
	flag.StringVar(&c.modules, "modules", "", "`directory` node_modules with the suites")
	flag.StringVar(&c.node, "node", "node", "`program` that runs them, Node 22 or later")
	flag.StringVar(&c.exceptions, "exceptions", "", "`file` with the checks that may fail")
	flag.StringVar(&c.record, "record", "", "write the conversation of each scenario to this `directory`, and run no complete suite")
	flag.BoolVar(&c.serve, "serve", false, "serve until interrupted, and run no suite")
	flag.BoolVar(&c.verbose, "v", false, "print the log of the server, and what the suites print")
	flag.Parse()
	if err := c.run(ctx, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintf(os.Stderr, "conformance: %v\n", err)
		os.Exit(1)
	}
}

// command has the flags.
type command struct {
	program, plugins, modules, node, exceptions, record string
	serve, verbose                                      bool
}

// run prints the table to stderr, and one line about all suites to stdout.
func (c *command) run(ctx context.Context, stdout, stderr io.Writer) (err error) {
	excused, err := readExceptions(c.exceptions)
	if err != nil {
		return err
	}
	if c.program != "" && c.record != "" {
		return errors.New("-record needs the host in this process, which applies changes of its config at once")
	}
	log := io.Discard
	if c.verbose || c.serve {
		log = stderr
	}
	s, err := start(ctx, c.program, c.plugins, "", log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	switch {
	case c.serve:
		fmt.Fprintln(stderr, s.url)
		<-ctx.Done()
		return nil
	case c.record != "":
		return c.recordAll(ctx, s, stderr)
	}
	var results []result
	for _, suite := range suites {
		r, err := c.runAgainst(ctx, suite, s, log)
		if err != nil {
			return err
		}
		if c.program != "" {
			r = withoutHook(r)
		}
		results = append(results, r)
	}
	verdict := judge(results, excused)
	verdict.print(stderr)
	fmt.Fprintln(stdout, verdict.line())
	return verdict.err()
}

// runAgainst runs a suite against s, or against a server of its own if the suite needs another config.
func (c *command) runAgainst(ctx context.Context, one suite, s *server, log io.Writer) (_ result, err error) {
	if one.table != "" {
		if s, err = start(ctx, c.program, c.plugins, one.table, log); err != nil {
			return result{}, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
	}
	return c.runSuite(ctx, one, s.url, log)
}
