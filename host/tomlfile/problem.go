// Package tomlfile reads TOML files that people write: it decodes them strictly and says everything
// that is wrong with one, each with its line and key, not only the first.
package tomlfile

import (
	"fmt"
	"strings"
)

// Problem is one thing wrong with a file.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line,omitempty"` // from 1; 0: the file as a whole
	Key    string `json:"key,omitempty"`  // dotted, with array indices: tools[2].input
	What   string `json:"problem"`
	Remedy string `json:"remedy,omitempty"`
	// Warning is set where the file can be used all the same.
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

// Problems are all the things wrong with a file; as an error it names each on a line of its own.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Errors are the problems that are not warnings.
func (ps Problems) Errors() Problems { return ps.filter(false) }

// Warnings are the problems that do not keep the file from being used.
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

// Err is the error of ps: nil if nothing but warnings is in it.
func (ps Problems) Err() error {
	if errs := ps.Errors(); len(errs) > 0 {
		return errs
	}
	return nil
}
