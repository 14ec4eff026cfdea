package spec

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Main is a main spec as it was read. It caches the results of its methods, since validation and merges use the same spec
// for each change that touches it. Callers must not modify the results. It is not safe for concurrent use.
type Main struct {
	Source   string // as on disk
	text     *markdown.Text
	parts    *Parts
	problems *[]Problem
}

// NewMain returns the main spec of a source, which is parsed lazily.
func NewMain(source string) *Main { return &Main{Source: source} }

// Text returns the spec's lines. Invalid UTF-8 becomes U+FFFD.
func (m *Main) Text() *markdown.Text {
	if m.text == nil {
		m.text = markdown.Parse(strings.ToValidUTF8(m.Source, "\uFFFD"))
	}
	return m.text
}

// Parts returns Divide of the spec.
func (m *Main) Parts() Parts {
	if m.parts == nil {
		parts := Divide(m.Text())
		m.parts = &parts
	}
	return *m.parts
}

// Problems returns Structure of the spec.
func (m *Main) Problems() []Problem {
	if m.problems == nil {
		problems := Structure(m.Text())
		m.problems = &problems
	}
	return *m.problems
}
