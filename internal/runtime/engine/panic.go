package engine

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// panicText collects the text of a panic from what a module prints to standard error and logs as an error. A module that panics ends with
// a trap, of which WASM knows no more than "unreachable", so the text is the only reason that its author gets.
type panicText struct {
	lines    []string // of the last panic
	complete bool     // a stack trace follows
	last     string   // last line, in case that no line begins a panic
}

// Bounds of a panic's text.
const (
	maxPanicLines = 5
	maxPanicText  = 1 << 10 // bytes
)

// add adds a line.
func (p *panicText) add(line string) {
	switch {
	case beginsPanic(line):
		p.lines, p.complete = []string{line}, false
	case len(p.lines) > 0 && !p.complete && !beginsStack(line) && len(p.lines) < maxPanicLines:
		p.lines = append(p.lines, line)
	default:
		p.complete = true
	}
	if strings.TrimSpace(line) != "" {
		p.last = line
	}
}

// text returns the text of the last panic in one line; of a module in an unknown language it is the last line.
func (p *panicText) text() string {
	lines := p.lines
	if len(lines) == 0 {
		lines = []string{p.last}
	}
	return visible.Bounded(strings.Join(strings.Fields(strings.Join(lines, " ")), " "), maxPanicText)
}

// beginsPanic reports whether a line is the first one that Go, Rust or assert of C prints before the program ends.
func beginsPanic(line string) bool {
	return strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") || strings.HasPrefix(line, "Assertion failed: ") ||
		strings.HasPrefix(line, "thread '") && strings.Contains(line, " panicked at ")
}

// beginsStack reports whether a line follows the text of a panic of Go or Rust.
func beginsStack(line string) bool {
	return strings.HasPrefix(line, "goroutine ") || strings.HasPrefix(line, "note: ") || strings.HasPrefix(line, "stack backtrace:")
}
