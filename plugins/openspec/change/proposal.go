// Package change parses the files of a change except for its deltas: proposal, tasks and metadata.
//
//	proposal, err := change.ParseProposal("add-search", markdown.Parse(source))
//	facts := change.TaskFactsOf(source)
package change

import (
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Missing is an error about a proposal. It is the title of a required section that the proposal lacks.
type Missing string

func (m Missing) Error() string { return "Change must have a " + string(m) + " section" }

// Proposal is the parsed content of the proposal.md of a change.
type Proposal struct {
	Title       string
	Why         string
	WhatChanges string
}

// Bullet is a delta that a list item of a proposal describes in prose. Changes without delta files use such list items.
type Bullet struct {
	Spec        string
	Operation   string // one of spec.Operations
	Description string
}

// ParseProposal parses the proposal of the change with the given id. The error is a Missing.
func ParseProposal(id string, text *markdown.Text) (*Proposal, error) {
	sections := text.Sections()
	why := markdown.Find(sections, "Why")
	if why == nil || why.Content() == "" {
		return nil, Missing("Why")
	}
	what := markdown.Find(sections, "What Changes")
	if what == nil || what.Content() == "" {
		return nil, Missing("What Changes")
	}
	return &Proposal{Title: title(id, text), Why: why.Content(), WhatChanges: what.Content()}, nil
}

// titleLine matches a header of level 1, inside or outside of a fence, up to the end of its line. The white space after
// the # may contain line feeds. So the title of a header without a title of its own is the next line that is not blank.
var titleLine = regexp.MustCompile(`(?im)(?:^|[\x{2028}\x{2029}])#` + markdown.Space + `+(?:Change:` + markdown.Space + `+)?([^\n\x{2028}\x{2029}]+)`)

// title returns the title of a proposal. If the title is empty or names only the kind of file, title returns the id of
// the change.
func title(id string, text *markdown.Text) string {
	source := text.String()
	if text.Marked {
		source = "\uFEFF" + source // with the byte-order mark, titleLine does not match a header on the first line
	}
	found := titleLine.FindStringSubmatch(source)
	if found == nil {
		return id
	}
	title := markdown.Trim(found[1])
	if title == "" || markdown.EqualFold(title, "proposal") {
		return id
	}
	return title
}

// bullet matches a list item that begins with the name of a spec in bold, followed by a colon inside or outside of the
// bold text.
var bullet = regexp.MustCompile(`^` + markdown.Space + `*-` + markdown.Space + `*\*\*([^*:]+)(?::\*\*|\*\*:)` + markdown.Space + `*([^\x{2028}\x{2029}]+)$`)

// prose holds the pattern of each operation that a list item can describe, in the order in which Bullets tries the
// patterns.
var prose = []struct {
	operation string
	words     *regexp.Regexp
}{
	{"RENAMED", regexp.MustCompile(`(?i)\brename(?:s|d|ing)?\b`)},
	{"ADDED", regexp.MustCompile(`(?i)\b(?:add(?:s|ed|ing)?|create(?:s|d|ing)?|new)\b`)},
	{"REMOVED", regexp.MustCompile(`(?i)\b(?:remove|delete)(?:s|d|ing)?\b`)},
}

// Bullets returns the deltas that the section What Changes describes in prose.
func (p *Proposal) Bullets() []Bullet {
	var all []Bullet
	for line := range strings.SplitSeq(p.WhatChanges, "\n") {
		found := bullet.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		description := markdown.Trim(found[2])
		all = append(all, Bullet{Spec: markdown.Trim(found[1]), Operation: operation(description), Description: description})
	}
	return all
}

func operation(description string) string {
	for _, one := range prose {
		if one.words.MatchString(description) {
			return one.operation
		}
	}
	return "MODIFIED"
}
