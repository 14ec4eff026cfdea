package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
)

// printInForce prints which config is in force, and which of its tables decides for a client; nil: the local user.
func printInForce(w io.Writer, c explain.ConfigInForce, client *explain.Client) {
	what := c.By
	if c.File != "" {
		what = oneLine(c.File + ", " + c.By)
	}
	fmt.Fprintf(w, "config  %s\n", what)
	for _, other := range c.PassedOver {
		fmt.Fprintf(w, "        passed over: %s, %s\n", oneLine(other.File), oneLine(other.By))
	}
	if c.Ceiling != "" {
		fmt.Fprintf(w, "ceiling %s\n", oneLine(c.Ceiling))
	}
	if client != nil {
		printClient(w, client)
	}
	fmt.Fprintln(w)
}

// printClient prints which table of [[clients]] decides for a client.
func printClient(w io.Writer, client *explain.Client) {
	fmt.Fprintf(w, "client  %s\n", oneLine(client.Name))
	fmt.Fprintf(w, "        %s\n", oneLine(client.By))
	if client.Principal != "" && client.Principal != client.Name {
		fmt.Fprintf(w, "        principal: %s\n", oneLine(client.Principal))
	}
	if client.Projects != nil {
		fmt.Fprintf(w, "        projects: %s\n", oneLine(cmp.Or(strings.Join(client.Projects, ", "), "none")))
		if !client.AllowsProject("") {
			fmt.Fprintln(w, "        not the server's own project, at /mcp, which only the pattern * includes")
		}
	}
	if client.Metrics {
		fmt.Fprintln(w, "        may read the metrics of the server")
	}
	if client.Quota != nil {
		fmt.Fprintf(w, "        quota: %s\n", client.Quota)
	}
}
