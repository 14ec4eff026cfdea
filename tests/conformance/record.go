package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
)

// recorded are the suites whose conversations are kept, one file for each.
var recorded = []struct{ file, pkg, version string }{
	{"2025-11-25.txtar", "conformance-0.2", "2025-11-25"},
	{"2026-07-28.txtar", "conformance-0.2", "2026-07-28"},
}

// scenarioName is a line of the list of scenarios.
var scenarioName = regexp.MustCompile(`(?m)^  - (\S+)`)

// recordAll runs the scenarios one by one through a proxy, and writes what was said.
func (c *command) recordAll(ctx context.Context, s *server, stderr io.Writer) error {
	listen, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	tape := &tape{}
	proxy := &http.Server{Handler: tape.proxy(s.url)}
	defer proxy.Close()
	go func() { _ = proxy.Serve(listen) }() // ends with proxy.Close
	for _, r := range recorded {
		names, err := c.scenarios(ctx, r.pkg, r.version)
		if err != nil {
			return err
		}
		archive := &txtar.Archive{Comment: fmt.Appendf(nil, "Conversations of the scenarios of %s at %s: see docs/mcp-conformance.md.\n"+
			"Lines of the client begin with >, lines of the server with <, and = begins a session.\n\n", strings.TrimPrefix(r.pkg, "conformance-"), r.version)}
		names = slices.Concat(names, skillScenarios)
		for _, name := range names {
			if err := s.reset(ctx); err != nil {
				return err
			}
			tape.reset()
			one := suite{name: name, pkg: r.pkg, options: []string{"--scenario", name, "--spec-version", r.version, "--force"}}
			if _, err := c.runSuite(ctx, one, "http://"+listen.Addr().String()+httpserver.Path, stderr); err != nil {
				return err
			}
			if text := tape.text(); text != "" {
				archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
			}
		}
		if err := os.WriteFile(filepath.Join(c.record, r.file), txtar.Format(archive), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// scenarios returns the names of a version's scenarios, without those of extensions.
func (c *command) scenarios(ctx context.Context, pkg, version string) ([]string, error) {
	program := filepath.Join(c.modules, pkg, "dist", "index.js")
	output, err := commandOutput(ctx, c.node, program, "list", "--server", "--spec-version", version)
	if err != nil {
		return nil, fmt.Errorf("list of scenarios: %w: %s", err, bytes.TrimSpace(output))
	}
	var names []string
	for _, match := range scenarioName.FindAllSubmatch(output, -1) {
		names = append(names, string(match[1]))
	}
	if len(names) == 0 {
		return nil, errors.New("list of scenarios: it is empty")
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}
