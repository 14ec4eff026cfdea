// Package delta parses the delta of a change for one capability, which consists of the requirements that the change
// adds, modifies, removes and renames.
//
//	parsed := delta.Parse(markdown.Parse(source))
//
// The result also contains requirements in places where they have no effect. The packages validation and merge check
// the content.
package delta

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

// Delta is the parsed content of one delta file. The contents of several sections of one kind are concatenated.
type Delta struct {
	Added    []requirement.Block
	Modified []requirement.Block
	Removed  []requirement.Block // a requirement that only a list item names consists of its header
	Renamed  []Rename
	Unpaired []Unpaired
	Strays   []Stray
	Orphans  []Orphan
	// Sections contains each kind of delta section in the file once, in the order of spec.Operations.
	Sections []string
	// Meant reports whether a line begins like the header of a delta section. The line may be in a fence, and may have
	// any spacing and suffix.
	Meant bool
	// Purpose is the body of the section Purpose, as spec.PurposeBody returns it.
	Purpose string
}

// Rename holds the old and the new name of a requirement.
type Rename struct{ From, To string }

// Unpaired is one side of a rename whose other side is missing.
type Unpaired struct {
	Side string // the side that exists, "FROM" or "TO"
	Name string
	Line int
}

// Stray is a header of level 3 that is in a section of requirements, but is not the header of a requirement.
type Stray struct {
	Title   string // the text after the ###
	Section string // the title of the first section of the same kind
	Line    int
	Unnamed bool // the title consists of "Requirement" without a name
}

// Orphan is a requirement outside of the sections of a delta.
type Orphan struct {
	Name    string
	Section string // the title of the header of level 2 above the requirement; "" if there is none
	Line    int
}

// Entries returns the number of requirements in the delta.
func (d *Delta) Entries() int {
	return len(d.Added) + len(d.Modified) + len(d.Removed) + len(d.Renamed)
}

// Parse parses the text of a delta file.
func Parse(text *markdown.Text) *Delta {
	d := &Delta{Meant: means(text), Purpose: spec.PurposeBody(text)}
	titles := map[string]string{} // the title of the first section of each operation
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
		if _, seen := titles[operation]; !seen {
			titles[operation] = title
		}
		d.read(operation, titles[operation], title, text.Slice(start, i))
		start, title = min(i+1, len(text.Lines)), next
	}
	for _, operation := range spec.Operations {
		if _, seen := titles[operation]; seen {
			d.Sections = append(d.Sections, operation)
		}
	}
	return d
}

// meant matches a line that the author may have meant as the header of a delta section.
var meant = func() *regexp.Regexp {
	const space = markdown.Space + "+"
	return regexp.MustCompile(`(?im)(?:^|[\x{2028}\x{2029}])##` + space + `(?:` + strings.Join(spec.Operations, "|") + `)` + space + spec.RequirementsTitle)
}()

// means reports whether text has a line that the author may have meant as the header of a delta section.
func means(text *markdown.Text) bool {
	source := text.String()
	if text.Marked {
		source = "\uFEFF" + source // with the byte-order mark, meant does not match a header on the first line
	}
	return meant.MatchString(source)
}

// read parses the body of one section. The argument "named" is the title of the first section of the same operation, for
// messages.
func (d *Delta) read(operation, named, title string, body *markdown.Text) {
	switch operation {
	case "ADDED":
		_, blocks := requirement.Blocks(body)
		d.Added = append(d.Added, blocks...)
		d.readStrays(named, body)
	case "MODIFIED":
		_, blocks := requirement.Blocks(body)
		d.Modified = append(d.Modified, blocks...)
		d.readStrays(named, body)
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
		if body.Level(i) != 3 {
			continue
		}
		if _, ok := requirement.ParseHeader(line); ok {
			continue
		}
		_, first := utf8.DecodeRuneInString(line[3:])
		title, ok := requirement.Text(line[3+first:])
		if !ok {
			continue
		}
		title = markdown.Trim(title)
		d.Strays = append(d.Strays, Stray{
			Title:   title,
			Section: section,
			Line:    body.Number(i),
			Unnamed: markdown.EqualFold(strings.TrimSuffix(title, ":"), "Requirement"),
		})
	}
}

func (d *Delta) readOrphans(title string, body *markdown.Text) {
	for i, line := range body.Lines {
		if body.Fenced(i) {
			continue
		}
		if name, ok := requirement.ParseHeader(line); ok {
			d.Orphans = append(d.Orphans, Orphan{Name: name, Section: title, Line: body.Number(i)})
		}
	}
}
