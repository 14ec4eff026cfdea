package markdown

// Section is a header together with the lines below it.
type Section struct {
	Level    int
	Title    string
	Body     *Text // the lines after the header up to the next header of the same or a higher level
	Children []*Section
}

// Content returns the lines of the section, including deeper headers, without surrounding white space.
func (s *Section) Content() string { return Trim(s.Body.String()) }

// Sections returns the headers of a text as a tree. The parent of a header is the last header of a higher level before
// it, even if levels are skipped. A section ends at the next line that begins like a header of the same or a higher
// level. Such a line ends the section even if no title follows the # characters, but a line without a title does not
// begin a new section.
func (t *Text) Sections() []*Section {
	var top []*Section
	var open []*Section // the sections that contain the current line, from the outermost to the innermost
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

// Find returns the first section with the given title, in the order of the text and at any level. The case of the title
// is ignored. Find returns nil if no section has the title.
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
