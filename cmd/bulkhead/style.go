package main

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
)

// paint colours a word that states a result, which may be padded. Words without a colour are returned as they are.
func paint(s term.Style, word string) string {
	switch strings.TrimSpace(word) {
	case "ok", "yes:", "pinned", "compiled", "kept":
		return s.Good(word)
	case "failed", "changed", "missing", "no:", "left out", "left out:", "refused", "refused:", "revoked", "denied", "DESTROYS", "bulkhead:":
		return s.Bad(word)
	case "warning", "warning:", "not pinned", "not offered", "not offered:", "not granted:", "note:", "cancelled", "skipped:", "gap", "tool_error", "rpc_error", "WRITES":
		return s.Warn(word)
	}
	return word
}

// paintChange colours a line of a difference by its mark.
func paintChange(s term.Style, line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return s.Good(line)
	case strings.HasPrefix(line, "-"):
		return s.Bad(line)
	}
	return line
}

// paintPassed returns the coloured outcome of a test, padded to a column.
func paintPassed(s term.Style, passed bool) string {
	if passed {
		return paint(s, "ok     ")
	}
	return paint(s, "failed ")
}
