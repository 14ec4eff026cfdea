// Package validation validates main specs and changes.
//
//	issues := validation.Spec(spec.NewMain(source))
//	issues := validation.Change(validation.Input{ID: "add-x", …})
//	valid := validation.Valid(issues, strict)
//
// The issues have the order and the wording of the openspec CLI 1.13.2. The package accesses no files: package project
// reads the files.
package validation

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/sdk/derive"
)

// Level is the severity of an issue.
type Level string

// The levels of issues. An error makes an item invalid; a warning does so only in strict validation; information never
// does.
const (
	Error   Level = "ERROR"
	Warning Level = "WARNING"
	Info    Level = "INFO"
)

// Issue is one result of validation.
type Issue struct {
	Level   Level  `json:"level"`
	Path    string `json:"path"`
	Line    int    `json:"line,omitempty"` // line number in the file, from 1; 0 if the issue is not in one line
	Message string `json:"message"`
}

// Fields implements derive.Fielder.
func (i *Issue) Fields(c *derive.Codec) {
	c.String((*string)(&i.Level))
	c.String(&i.Path)
	c.Int(&i.Line)
	c.String(&i.Message)
}

// Valid reports whether an item with these issues is valid.
func Valid(issues []Issue, strict bool) bool {
	return !slices.ContainsFunc(issues, func(issue Issue) bool {
		return issue.Level == Error || strict && issue.Level == Warning
	})
}

// list collects the issues of the file at one path.
type list struct {
	path   string
	issues []Issue
}

func (l *list) add(level Level, line int, format string, arguments ...any) {
	l.issues = append(l.issues, Issue{Level: level, Path: l.path, Line: line, Message: fmt.Sprintf(format, arguments...)})
}

// The ends of messages about a missing keyword.
const (
	headerOnly = ` in the requirement body, not only in the header. Move the SHALL/MUST statement to the line immediately after the "### Requirement: ..." header.`
	bestUse    = ` (RFC 2119 best practice for English specs)`
)

// noKeyword returns the message that a requirement must or should contain SHALL or MUST; the argument verb is "must" or
// "should". If only the header contains the keyword, the message says so.
func noKeyword(subject, verb, name string) string {
	text := fmt.Sprintf("%s %s contain SHALL or MUST", subject, verb)
	if requirement.HasKeyword(name) {
		text += headerOnly
	}
	if verb == "should" {
		text += bestUse
	}
	return text
}
