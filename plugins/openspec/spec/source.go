package spec

import "github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"

// Main is the main spec of a capability. It caches the results of its methods, since validation and merges use one main
// spec for all changes that affect it. Callers must not modify the results. Main is not safe for concurrent use.
type Main struct {
	Source   string // the unchanged content of the file
	text     *markdown.Text
	parts    *Parts
	problems *[]Problem
}

// NewMain returns the main spec with the given content. The methods parse the content when they need it.
func NewMain(source string) *Main { return &Main{Source: source} }

// Text returns the lines of the spec. Invalid UTF-8 becomes U+FFFD.
func (m *Main) Text() *markdown.Text {
	if m.text == nil {
		m.text = markdown.ParseAny(m.Source)
	}
	return m.text
}

// Parts returns the result of the function Divide for the spec.
func (m *Main) Parts() Parts {
	if m.parts == nil {
		parts := Divide(m.Text())
		m.parts = &parts
	}
	return *m.parts
}

// Problems returns the result of the function Structure for the spec.
func (m *Main) Problems() []Problem {
	if m.problems == nil {
		problems := Structure(m.Text())
		m.problems = &problems
	}
	return *m.problems
}
