// Package sample describes plugins of realistic size for BenchmarkStart in tests/bench, which writes them as manifests. The
// native server has the same tools compiled in.
package sample

import (
	"fmt"
	"strings"
)

// Tools is the number of tools of each plugin.
const Tools = 14

// Description and Schema are the description and the input schema of every tool.
const (
	Description = "List the entries of the current project that have a status, newest first"
	Schema      = `{"type":"object","properties":{"status":{"type":"string","description":"Filter by status (pending, in_progress, completed, failed)"},"limit":{"type":"integer","description":"Maximum number of entries to return (default: 50)"}},"required":["status"]}`
)

// Name returns the name of a tool.
func Name(plugin, tool int) string { return fmt.Sprintf("sample%d_tool%d", plugin, tool) }

// Manifest returns the manifest of a plugin.
func Manifest(plugin int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `manifest = 1

[plugin]
name        = "sample%d"
version     = "1.0.0"
description = "Sample of the start benchmark."

[module]
file = "sample.wasm"

[[capabilities.fs]]
path   = "${project}"
access = "rw"
why    = "reads and writes the entries"
`, plugin)
	for tool := range Tools {
		fmt.Fprintf(&b, `
[[tools]]
name        = %q
description = %q
access      = "read"
[tools.input]
type = "object"
properties.status.type = "string"
properties.status.description = "Filter by status (pending, in_progress, completed, failed)"
properties.limit.type = "integer"
properties.limit.description = "Maximum number of entries to return (default: 50)"
required = ["status"]
`, Name(plugin, tool), Description)
	}
	return b.String()
}
