package spec

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Main is the main spec of a capability. It caches the results of its methods, since validation and merges use the same
// spec for each change that touches it. Callers must not modify the results. Main is not safe for concurrent use.
type Main struct {
	Source   string // unchanged content of the file
	text     *markdown.Text
	parts    *Parts
	problems *[]Problem
}

// NewMain returns the main spec with the given content. The methods parse it lazily.
func NewMain(source string) *Main { return &Main{Source: source} }

// Text returns the spec's lines. Invalid UTF-8 becomes U+FFFD.
func (m *Main) Text() *markdown.Text {
	if m.text == nil {
		m.text = markdown.Parse(strings.ToValidUTF8(m.Source, "\uFFFD"))
	}
	return m.text
}

// Parts returns the result of Divide for the spec.
func (m *Main) Parts() Parts {
	if m.parts == nil {
		parts := Divide(m.Text())
		m.parts = &parts
	}
	return *m.parts
}

// Problems returns the result of Structure for the spec.
func (m *Main) Problems() []Problem {
	if m.problems == nil {
		problems := Structure(m.Text())
		m.problems = &problems
	}
	return *m.problems
}
