package markdown

// Section is a header with its body.
type Section struct {
	Level    int
	Title    string
	Body     *Text // from the line after the header to the next header of the same or a higher level
	Children []*Section
}

// Content returns the section's lines, including deeper headers, trimmed.
func (s *Section) Content() string { return Trim(s.Body.String()) }

// Sections returns the tree of a text's headers. The parent of a header is the last header of a higher level before it,
// even if levels are skipped. A section ends at the next line that begins like a header of its level or a higher one. A
// header without a title ends a section, too, but begins none.
func (t *Text) Sections() []*Section {
	var top []*Section
	var open []*Section // from the outermost to the innermost
	begins := map[*Section]int{}
	end := func(level, at int) {
		for _, section := range open {
			if section.Body == nil && section.Level >= level {
				section.Body = t.Slice(begins[section], at)
			}
		}
	}
	for i := range t.Lines {
		level := t.Level(i)
		if level == 0 {
			continue
		}
		end(level, i)
		_, title, ok := t.Header(i)
		if !ok {
			continue
		}
		for len(open) > 0 && open[len(open)-1].Level >= level {
			open = open[:len(open)-1]
		}
		section := &Section{Level: level, Title: title}
		begins[section] = i + 1
		if len(open) == 0 {
			top = append(top, section)
		} else {
			parent := open[len(open)-1]
			parent.Children = append(parent.Children, section)
		}
		open = append(open, section)
	}
	end(0, len(t.Lines))
	return top
}

// Find returns the first section with a title, case-insensitively and at any level, in the order of the text; nil if there
// is none.
func Find(sections []*Section, title string) *Section {
	for _, section := range sections {
		if EqualFold(section.Title, title) {
			return section
		}
		if found := Find(section.Children, title); found != nil {
			return found
		}
	}
	return nil
}
