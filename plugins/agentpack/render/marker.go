package render

import (
	"errors"
	"fmt"
	"strings"
)

// SectionStart is the beginning of the marker line at which the section of a module starts.
const SectionStart = "<!-- agentpack:module="

const (
	sectionStartEnd  = "-->"
	sectionEnd       = "<!-- /agentpack -->"
	sectionSeparator = "\n\n---\n\n"
)

// Section is the part of an aggregated file that comes from one module.
type Section struct {
	Module  string
	Content string
}

// JoinSections concatenates sections, and puts each section between two marker lines. A single section gets no marker
// lines.
func JoinSections(sections []Section) string {
	if len(sections) == 1 {
		return sections[0].Content
	}
	var text strings.Builder
	for i, section := range sections {
		if i > 0 {
			text.WriteString(sectionSeparator)
		}
		fmt.Fprintf(&text, "%s%s %s\n%s", SectionStart, section.Module, sectionStartEnd, section.Content)
		if !strings.HasSuffix(section.Content, "\n") {
			text.WriteByte('\n')
		}
		text.WriteString(sectionEnd)
	}
	return text.String()
}

// ParseSections returns the sections of an aggregated file, without text outside of sections. An unterminated, nested
// or duplicate section is an error.
func ParseSections(text string) ([]Section, error) {
	var sections []Section
	seen := map[string]bool{}
	open, from, at := "", 0, 0 // the module of the open section, the offset of the section's content, and the current offset
	for line := range strings.Lines(text) {
		module, starts := parseSectionStart(line)
		switch {
		case starts && open != "":
			return nil, fmt.Errorf("the section of %s is nested in the section of %s", module, open)
		case starts && seen[module]:
			return nil, fmt.Errorf("the file has two sections of %s", module)
		case starts:
			seen[module] = true
			open, from = module, at+len(line)
		case open != "" && strings.TrimSpace(line) == sectionEnd:
			sections = append(sections, Section{open, text[from:at]})
			open = ""
		}
		at += len(line)
	}
	if open != "" {
		return nil, errors.New("the section of " + open + " is not terminated")
	}
	return sections, nil
}

// parseSectionStart returns the module id in a marker line that starts a section; false for any other line.
func parseSectionStart(line string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), SectionStart)
	if !ok {
		return "", false
	}
	module, ok := strings.CutSuffix(rest, sectionStartEnd)
	module = strings.TrimSpace(module)
	return module, ok && module != ""
}
