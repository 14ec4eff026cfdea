// Package change parses the files of a change other than its deltas: proposal, tasks and metadata.
//
//	proposal, err := change.ParseProposal("add-search", markdown.Parse(source))
//	done, total := change.CountTasks(source)
package change

import (
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Missing is the title of a required section that a proposal lacks.
type Missing string

func (m Missing) Error() string { return "Change must have a " + string(m) + " section" }

// Proposal is a change's proposal.md.
type Proposal struct {
	Title       string
	Why         string
	WhatChanges string
}

// Bullet is a delta described in prose, for changes without delta files.
type Bullet struct {
	Spec        string
	Operation   string // one of spec.Operations
	Description string
}

// ParseProposal parses the proposal of the change id. The error is a Missing.
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

// title returns a proposal's title, the first header of level 1; one in a fence counts, too. An
// empty title is replaced by the change's id.
func title(id string, text *markdown.Text) string {
	for _, line := range text.Lines {
		level, title, ok := markdown.Header(line)
		if !ok || level != 1 {
			continue
		}
		title = withoutPrefix(title)
		if title == "" || strings.EqualFold(title, "Proposal") {
			break
		}
		return title
	}
	return id
}

// withoutPrefix removes the word that begins some titles.
func withoutPrefix(title string) string {
	const prefix = "Change:"
	if len(title) <= len(prefix) || !strings.EqualFold(title[:len(prefix)], prefix) {
		return title
	}
	rest := title[len(prefix):]
	if trimmed := markdown.TrimLeft(rest); trimmed != rest {
		return trimmed
	}
	return title
}

// bullet matches a list item that begins with the name of a spec in bold; the colon may be in the bold or after it.
var bullet = regexp.MustCompile(`^\s*-\s*\*\*([^*:]+)(?::\*\*|\*\*:)\s*(.+)$`)

// Patterns of operations in prose, in the order in which they are tried.
var prose = []struct {
	operation string
	words     *regexp.Regexp
}{
	{"RENAMED", regexp.MustCompile(`(?i)\brenam(?:e|es|ed|ing)\b`)},
	{"ADDED", regexp.MustCompile(`(?i)\b(?:add(?:s|ed|ing)?|creat(?:e|es|ed|ing)|new)\b`)},
	{"REMOVED", regexp.MustCompile(`(?i)\b(?:remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing))\b`)},
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
