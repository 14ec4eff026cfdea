package main

import (
	"fmt"
	"io"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
)

// printInForce prints which config is in force.
func printInForce(w io.Writer, c explain.ConfigInForce) {
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
	fmt.Fprintln(w)
}
