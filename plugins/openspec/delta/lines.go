package delta

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// readRemoved takes requirements as headers and as items of a list. The body of a header reaches to the
// next one, whatever lists are in it.
func (d *Delta) readRemoved(body *markdown.Text) {
	headed := -1 // which of d.Removed is the header whose body is being read
	start := 0   // and at which line it stands
	end := func(at int) {
		if headed >= 0 {
			d.Removed[headed].Text = body.Slice(start, at)
		}
	}
	for i, line := range body.Lines {
		if body.Fenced(i) {
			continue
		}
		if name, ok := requirement.ParseHeader(line); ok && name != "" {
			end(i)
			headed, start = len(d.Removed), i
			d.Removed = append(d.Removed, requirement.Block{Name: name})
			continue
		}
		if item, ok := listItem(line); ok {
			if name, ok := quotedHeader(item); ok {
				d.Removed = append(d.Removed, requirement.Block{Name: name, Text: body.Slice(i, i+1)})
			}
		}
	}
	end(len(body.Lines))
}

// readRenamed pairs each FROM with the TO behind it. A pair never crosses the end of a section.
func (d *Delta) readRenamed(body *markdown.Text) {
	var open *Unpaired
	for i, line := range body.Lines {
		if body.Fenced(i) {
			continue
		}
		side, name, ok := renameLine(line)
		if !ok {
			continue
		}
		this := Unpaired{Side: side, Name: name, Line: body.Number(i)}
		switch {
		case side == "TO" && open != nil:
			d.Renamed = append(d.Renamed, Rename{From: open.Name, To: name})
			open = nil
		case side == "TO":
			d.Unpaired = append(d.Unpaired, this)
		default:
			if open != nil {
				d.Unpaired = append(d.Unpaired, *open)
			}
			open = &this
		}
	}
	if open != nil {
		d.Unpaired = append(d.Unpaired, *open)
	}
}

// renameLine reads a line such as "- FROM: `### Requirement: Name`".
func renameLine(line string) (side, name string, ok bool) {
	rest := markdown.TrimLeft(line)
	if item, ok := listItem(line); ok {
		rest = item
	}
	for _, side := range []string{"FROM", "TO"} {
		if quoted, ok := strings.CutPrefix(rest, side+":"); ok {
			name, ok := quotedHeader(quoted)
			return side, name, ok
		}
	}
	return "", "", false
}

// listItem returns what follows a bullet.
func listItem(line string) (string, bool) {
	line = markdown.TrimLeft(line)
	if line == "" || !strings.ContainsRune("-*+", rune(line[0])) {
		return "", false
	}
	return markdown.TrimLeft(line[1:]), true
}

// quotedHeader reads a requirement's header that may stand in backticks. Its name is never empty.
func quotedHeader(text string) (name string, ok bool) {
	text = markdown.Trim(text)
	text = strings.TrimPrefix(text, "`")
	text = strings.TrimSuffix(text, "`")
	name, ok = requirement.ParseHeader(text)
	return name, ok && name != ""
}
