package spec

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Main is a main spec as it was read. Validation and merges look at the same one again and again, for each
// change that touches it: what was made of it once is kept. Nobody may change what its methods return, and
// it is not for several goroutines.
type Main struct {
	Source   string // as it is on the disk
	text     *markdown.Text
	parts    *Parts
	problems *[]Problem
}

// NewMain returns the main spec of a source; it is taken apart when somebody looks.
func NewMain(source string) *Main { return &Main{Source: source} }

// Text returns the spec's lines. What is not UTF-8 is U+FFFD in them.
func (m *Main) Text() *markdown.Text {
	if m.text == nil {
		m.text = markdown.Parse(strings.ToValidUTF8(m.Source, "\uFFFD"))
	}
	return m.text
}

// Parts returns what Divide makes of the spec.
func (m *Main) Parts() Parts {
	if m.parts == nil {
		parts := Divide(m.Text())
		m.parts = &parts
	}
	return *m.parts
}

// Problems returns what Structure finds in the spec.
func (m *Main) Problems() []Problem {
	if m.problems == nil {
		problems := Structure(m.Text())
		m.problems = &problems
	}
	return *m.problems
}
