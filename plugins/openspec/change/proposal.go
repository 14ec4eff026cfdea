// Package change reads what a change has beside its deltas: proposal, tasks and metadata.
//
//	proposal, err := change.ParseProposal("add-search", markdown.Parse(source))
//	done, total := change.CountTasks(source)
package change

import (
	"regexp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
)

// Missing is the title of a section without which a text is no proposal.
type Missing string

func (m Missing) Error() string { return "Change must have a " + string(m) + " section" }

// Proposal is a change's proposal.md.
type Proposal struct {
	Title       string
	Why         string
	WhatChanges string
}

// Bullet is a delta told in prose, for changes without delta files.
type Bullet struct {
	Spec        string
	Operation   string // one of spec.Operations
	Description string
}

// ParseProposal reads the proposal of the change called id. The error is a Missing.
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

// title returns a proposal's title, the first header of level 1; one in a fence counts too. A title that
// says nothing is the change's id.
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

// withoutPrefix drops the word that some titles begin with.
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

// bullet is a list item with a hyphen whose bold beginning names a spec; the colon may be in the bold or behind it.
var bullet = regexp.MustCompile(`^\s*-\s*\*\*([^*:]+)(?::\*\*|\*\*:)\s*(.+)$`)

// What an operation looks like in prose, in the order in which they are tried.
var prose = []struct {
	operation string
	words     *regexp.Regexp
}{
	{"RENAMED", regexp.MustCompile(`(?i)\brenam(?:e|es|ed|ing)\b`)},
	{"ADDED", regexp.MustCompile(`(?i)\b(?:add(?:s|ed|ing)?|creat(?:e|es|ed|ing)|new)\b`)},
	{"REMOVED", regexp.MustCompile(`(?i)\b(?:remov(?:e|es|ed|ing)|delet(?:e|es|ed|ing))\b`)},
}

// Bullets returns the deltas that What Changes tells in prose.
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
