package markdown

import "strings"

// Section is a header with its body.
type Section struct {
	Level    int
	Title    string
	Body     *Text // from the line after the header to the next header of the same or a higher level
	Children []*Section
}

// Content returns the section's lines, including deeper headers, trimmed.
func (s *Section) Content() string { return Trim(s.Body.String()) }

// Sections returns the tree of a text's headers. The parent of a header is the last one of a higher level before it, even
// if levels are skipped.
func (t *Text) Sections() []*Section {
	var top []*Section
	var open []*Section // from the outermost to the innermost
	var starts []int    // where the bodies of open begin
	end := func(section *Section, start, at int) { section.Body = t.Slice(start, at) }
	for i := range t.Lines {
		level, title, ok := t.Header(i)
		if !ok {
			continue
		}
		for len(open) > 0 && open[len(open)-1].Level >= level {
			end(open[len(open)-1], starts[len(starts)-1], i)
			open, starts = open[:len(open)-1], starts[:len(starts)-1]
		}
		section := &Section{Level: level, Title: title}
		if len(open) == 0 {
			top = append(top, section)
		} else {
			parent := open[len(open)-1]
			parent.Children = append(parent.Children, section)
		}
		open, starts = append(open, section), append(starts, i+1)
	}
	for n, section := range open {
		end(section, starts[n], len(t.Lines))
	}
	return top
}

// Find returns the first section with a title, case-insensitively and at any level, in the order of the text; nil if there
// is none.
func Find(sections []*Section, title string) *Section {
	for _, section := range sections {
		if strings.EqualFold(section.Title, title) {
			return section
		}
		if found := Find(section.Children, title); found != nil {
			return found
		}
	}
	return nil
}
