// Package delta parses the delta of a change for one capability: the requirements that it adds, modifies, removes and
// renames.
//
//	parsed := delta.Parse(markdown.Parse(source))
//
// It returns the content, including parts in places where they have no effect. Packages validation and merge check it.
package delta

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

// Delta is one delta file. Sections of the same kind are concatenated.
type Delta struct {
	Added    []requirement.Block
	Modified []requirement.Block
	Removed  []requirement.Block // for one named in a list, only that line
	Renamed  []Rename
	Unpaired []Unpaired
	Strays   []Stray
	Orphans  []Orphan
	// Sections has the kinds of delta sections in the file, each once, in the order of spec.Operations.
	Sections []string
	// Meant says that a header begins like one of those, with any spacing and suffix.
	Meant bool
	// Purpose is the body of a Purpose section, trimmed; "" if there is none.
	Purpose string
}

// Rename is a requirement's old and new name.
type Rename struct{ From, To string }

// Unpaired is one end of a rename without the other.
type Unpaired struct {
	Side string // "FROM" or "TO"
	Name string
	Line int
}

// Stray is a level-3 header in a section of requirements that is not a requirement.
type Stray struct {
	Header  string // as written, trimmed
	Title   string // after the ###
	Section string // the section's title as written
	Line    int
	Unnamed bool // it is Requirement: without a name
}

// Orphan is a requirement outside of the delta's sections.
type Orphan struct {
	Name    string
	Section string // the title of the level-2 header above it; "" if there is none
	Line    int
}

// Entries returns the number of requirements in the delta.
func (d *Delta) Entries() int {
	return len(d.Added) + len(d.Modified) + len(d.Removed) + len(d.Renamed)
}

// Parse parses a delta file.
func Parse(text *markdown.Text) *Delta {
	d := &Delta{}
	seen := map[string]bool{}
	start, title := 0, ""
	for i := 0; i <= len(text.Lines); i++ {
		next, ends := "", i == len(text.Lines)
		if !ends {
			level, heading, ok := text.Header(i)
			next, ends = heading, ok && level == 2
		}
		if !ends {
			continue
		}
		operation := spec.DeltaSection(title)
		d.Meant = d.Meant || means(title)
		seen[operation] = true
		d.read(operation, title, text.Slice(start, i))
		start, title = min(i+1, len(text.Lines)), next
	}
	for _, operation := range spec.Operations {
		if seen[operation] {
			d.Sections = append(d.Sections, operation)
		}
	}
	return d
}

func means(title string) bool {
	words := strings.Fields(title)
	return len(words) >= 2 && spec.DeltaSection(words[0]+" "+words[1]) != ""
}

// read parses the body of one section.
func (d *Delta) read(operation, title string, body *markdown.Text) {
	switch operation {
	case "ADDED":
		_, blocks := requirement.Blocks(body)
		d.Added = append(d.Added, blocks...)
		d.readStrays(title, body)
	case "MODIFIED":
		_, blocks := requirement.Blocks(body)
		d.Modified = append(d.Modified, blocks...)
		d.readStrays(title, body)
	case "REMOVED":
		d.readRemoved(body)
	case "RENAMED":
		d.readRenamed(body)
	default:
		d.readOrphans(title, body)
	}
}

func (d *Delta) readStrays(section string, body *markdown.Text) {
	for i, line := range body.Lines {
		level, title, ok := body.Header(i)
		if !ok || level != 3 {
			continue
		}
		name, isRequirement := requirement.ParseHeader(line)
		if isRequirement && name != "" {
			continue
		}
		d.Strays = append(d.Strays, Stray{
			Header:  markdown.Trim(line),
			Title:   title,
			Section: section,
			Line:    body.Number(i),
			Unnamed: isRequirement,
		})
	}
}

func (d *Delta) readOrphans(title string, body *markdown.Text) {
	if markdown.Collapse(title) == spec.PurposeTitle && d.Purpose == "" {
		d.Purpose = markdown.Trim(body.String())
	}
	for i, line := range body.Lines {
		if body.Fenced(i) {
			continue
		}
		if name, ok := requirement.ParseHeader(line); ok && name != "" {
			d.Orphans = append(d.Orphans, Orphan{Name: name, Section: title, Line: body.Number(i)})
		}
	}
}
