package render

import (
	"errors"
	"fmt"
	"strings"
)

// SectionStart is the start of the line that begins a module's section.
const SectionStart = "<!-- agentpack:module="

const (
	sectionStartEnd  = "-->"
	sectionEnd       = "<!-- /agentpack -->"
	sectionSeparator = "\n\n---\n\n"
)

// Section is a module's part of an aggregated file.
type Section struct {
	Module  string
	Content string
}

// JoinSections concatenates sections, each between two markers. A single section is written without markers.
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
	open, from, at := "", 0, 0 // module of the open section, offset of its content, current offset
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

// parseSectionStart returns the module id in a line that starts a section; false for any other line.
func parseSectionStart(line string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), SectionStart)
	if !ok {
		return "", false
	}
	module, ok := strings.CutSuffix(rest, sectionStartEnd)
	module = strings.TrimSpace(module)
	return module, ok && module != ""
}
