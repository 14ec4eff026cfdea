package spec

import (
	"regexp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// Unaccounted returns the distinct lines of a main spec that do not belong to its title, to its Purpose, or to the
// header, the statement and the scenarios of a requirement. These lines would be lost if the file were deleted.
func Unaccounted(text *markdown.Text) []string {
	parts := Divide(text)
	var left leftovers
	left.before(parts.Before)
	for _, part := range []*markdown.Text{parts.Preamble, parts.After} {
		for _, line := range part.Lines {
			left.add(line)
		}
	}
	for _, block := range parts.Blocks {
		for i := 1; i < len(block.Text.Lines); i++ {
			if requirement.LooksIndependent(block.Text, i) {
				left.add(block.Text.Lines[i])
				break
			}
		}
		a := &blockAudit{left: &left, text: block.Text, column: outside}
		for i := 1; i < len(block.Text.Lines); i++ {
			a.line(i)
		}
	}
	return left.lines
}

// leftovers collects the distinct lines that Unaccounted returns.
type leftovers struct {
	lines []string
	known map[string]bool
}

func (l *leftovers) add(line string) {
	line = markdown.Trim(line)
	if line == "" || l.known[line] {
		return
	}
	if l.known == nil {
		l.known = map[string]bool{}
	}
	l.known[line] = true
	l.lines = append(l.lines, line)
}

var (
	underline   = regexp.MustCompile(`^ {0,3}(?:=+|-+)` + markdown.Space + `*$`)
	htmlHeading = regexp.MustCompile(`(?i)^ {0,3}<h[1-6]\b`)
	// anyHTMLHeading matches an HTML heading with any indentation.
	anyHTMLHeading = regexp.MustCompile(`(?i)^` + markdown.Space + `*<h[1-6]\b`)
	sectionHeader  = regexp.MustCompile(`^ {0,3}##` + markdown.Space + `+([^\x{2028}\x{2029}]+?)` + markdown.Space + `*$`)
	titleHeader    = regexp.MustCompile(`^ {0,3}#` + markdown.Space + `+[^\x{2028}\x{2029}]+$`)
	scenarioHeader = regexp.MustCompile(`(?i)^ {0,3}####` + markdown.Space + `+Scenario:`)
	listItem       = regexp.MustCompile(`^` + markdown.Space + `*(?:[-*+]|\d{1,9}[.)])` + markdown.Space + `+`)
	// ownBlock matches a line that ends a paragraph: a quote, a rule, a list item, a table row or HTML.
	ownBlock    = regexp.MustCompile(`^ {0,3}(?:>|(?:[-*_][ \t]*){3,}$|(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)|[<|])`)
	tableOrHTML = regexp.MustCompile(`^` + markdown.Space + `*[|<]`)
)

// before adds the lines above the Requirements header, except for the title and the Purpose section.
func (l *leftovers) before(text *markdown.Text) {
	titled, purposed := false, false
	above := ""
	for i, line := range text.Lines {
		section := sectionHeader.FindStringSubmatch(line)
		switch {
		case markdown.Trim(line) == "":
		case text.Fenced(i):
			if !purposed {
				l.add(line)
			}
		case section != nil:
			if purposed = markdown.EqualFold(markdown.Trim(section[1]), PurposeTitle); !purposed {
				l.add(line)
			}
		case purposed && markdown.Trim(above) != "" && underline.MatchString(line):
			l.add(above)
			purposed = false
		case htmlHeading.MatchString(line):
			l.add(line)
			purposed = false
		case titleHeader.MatchString(line) && !titled && !purposed:
			titled = true
		case titleHeader.MatchString(line):
			l.add(line)
			purposed = false
		case !purposed:
			l.add(line)
		}
		above = line
	}
}

// outside is the value of blockAudit.column outside of list items.
const outside = -1

// blockAudit adds those lines of a requirement that belong neither to its statement nor to the steps of its scenarios.
// A line within a list item is treated like that item.
type blockAudit struct {
	left *leftovers
	text *markdown.Text

	scenario  bool // a scenario has begun
	steps     bool // the list of the scenario's steps has not ended
	listed    bool // the list of steps has an item
	column    int  // column at which the content of the open list item begins; or the constant outside
	paragraph bool // the paragraph of the list item has not ended, so a line without indentation may continue it
}

func (a *blockAudit) line(i int) {
	line := a.text.Lines[i]
	if markdown.Trim(line) == "" {
		a.steps = a.steps && !a.listed
		a.column, a.paragraph = outside, false
		return
	}
	inside := a.column != outside && markdown.Width(markdown.Indent(line)) >= a.column
	within := line // the line without the indentation of the list item that contains the line
	if inside {
		within = dropColumns(line, a.column)
	}
	lazy := a.paragraph && a.steps && !ownBlock.MatchString(within)
	switch {
	case a.text.Fenced(i):
		if !inside {
			a.column = outside
		}
		a.paragraph = false
	case i > 1 && underline.MatchString(within) && markdown.Trim(a.text.Lines[i-1]) != "":
		a.left.add(a.text.Lines[i-1])
		a.column, a.paragraph = outside, false
	case (inside || lazy) && !isHeading(within):
		a.paragraph = !ownBlock.MatchString(within)
	default:
		a.begin(line)
	}
}

// begin classifies a line that does not belong to the list item above the line.
func (a *blockAudit) begin(line string) {
	bullet := listItem.FindString(line)
	a.column, a.paragraph = outside, bullet != ""
	if bullet != "" {
		a.column = markdown.Width(bullet)
	}
	switch {
	case scenarioHeader.MatchString(line):
		a.scenario, a.steps, a.listed = true, true, false
	case bullet != "" && a.steps:
		a.listed = true
	case a.scenario, bullet == "" && tableOrHTML.MatchString(line):
		a.left.add(line)
	}
}

func isHeading(line string) bool {
	level, _ := markdown.Indented(line)
	return level > 0 || anyHTMLHeading.MatchString(line)
}

// dropColumns removes white space from the start of line up to the given column. It removes a tab that extends beyond
// that column, too.
func dropColumns(line string, columns int) string {
	for at := range len(line) {
		if line[at] != ' ' && line[at] != '\t' || markdown.Width(line[:at]) >= columns {
			return line[at:]
		}
	}
	return ""
}
