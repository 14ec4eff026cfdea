// Package tomlfile reads and edits TOML files written by people. It decodes them strictly and reports all problems of a file,
// each with its line and key. Parse parses a file; Doc.Root returns its top-level table.
package tomlfile

import (
	"fmt"
	"strings"
)

// Problem is a problem in a file.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // line number from 1; 0: the file as a whole
	Key    string `json:"key,omitempty"`  // dotted, with array indices: tools[2].input
	What   string `json:"problem"`
	Remedy string `json:"remedy,omitempty"`
	// Warning is set if the file can be used nevertheless.
	Warning bool `json:"warning,omitempty"`
}

func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	b.WriteString(": ")
	if p.Key != "" {
		fmt.Fprintf(&b, "%s: ", p.Key)
	}
	b.WriteString(p.What)
	if p.Remedy != "" {
		fmt.Fprintf(&b, "\n  remedy: %s", p.Remedy)
	}
	return b.String()
}

// Problems are the problems of a file. The error text begins a new line for each problem.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Errors returns the problems that are not warnings.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings returns the problems that are warnings.
func (ps Problems) Warnings() Problems { return ps.filter(true) }

func (ps Problems) filter(warning bool) Problems {
	var out Problems
	for _, p := range ps {
		if p.Warning == warning {
			out = append(out, p)
		}
	}
	return out
}

// Err returns the errors, or nil if there are only warnings.
func (ps Problems) Err() error {
	if errs := ps.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}
