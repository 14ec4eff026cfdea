package delta

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// readRemoved parses requirements that are headers or list items. The body of a header extends to the next one and may
// have lists.
func (d *Delta) readRemoved(body *markdown.Text) {
	headed := -1 // the index in d.Removed of the header whose body is read
	start := 0   // the line of that header
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

// readRenamed pairs each FROM with the next TO of the same section.
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

// renameLine parses a line such as "- FROM: `### Requirement: Name`".
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

// listItem returns the text after a bullet.
func listItem(line string) (string, bool) {
	line = markdown.TrimLeft(line)
	if line == "" || !strings.ContainsRune("-*+", rune(line[0])) {
		return "", false
	}
	return markdown.TrimLeft(line[1:]), true
}

// quotedHeader parses a requirement's header, optionally in backticks, with a name that is not empty.
func quotedHeader(text string) (name string, ok bool) {
	text = markdown.Trim(text)
	text = strings.TrimPrefix(text, "`")
	text = strings.TrimSuffix(text, "`")
	name, ok = requirement.ParseHeader(text)
	return name, ok && name != ""
}
