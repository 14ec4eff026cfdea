package delta

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/requirement"
)

// readRemoved parses the removed requirements, which are headers or list items. The body of a header extends to the
// next header and may contain lists.
func (d *Delta) readRemoved(body *markdown.Text) {
	_, blocks := requirement.Blocks(body)
	bodies := map[string][]requirement.Block{} // the blocks of each name that the loop below has not reached yet
	for _, block := range blocks {
		bodies[block.Name] = append(bodies[block.Name], block)
	}
	for i, line := range body.Lines {
		if body.Fenced(i) {
			continue
		}
		name, ok := requirement.ParseHeader(line)
		if !ok {
			item, isItem := listItem(line)
			if name, ok = quotedHeader(item); !isItem || !ok {
				continue
			}
		}
		block := requirement.Block{Name: name, Text: markdown.Parse(requirement.Title(name))}
		block.Text.First = body.Number(i)
		if same := bodies[name]; len(same) > 0 {
			block, bodies[name] = same[0], same[1:]
		}
		d.Removed = append(d.Removed, block)
	}
}

// readRenamed pairs each FROM with the next TO in the same section.
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

// renameLine parses a line such as "- FROM: `### Requirement: Name`". It returns false for a line in another form.
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

// listItem returns the text after the bullet of a list item. It returns false for a line that is not a list item.
func listItem(line string) (string, bool) {
	line = markdown.TrimLeft(line)
	if line == "" || !strings.ContainsRune("-*+", rune(line[0])) {
		return "", false
	}
	return markdown.TrimLeft(line[1:]), true
}

// quotedHeader parses the header of a requirement in a list item. The header may be in backticks. The keyword is
// case-sensitive here, unlike in requirement.ParseHeader.
func quotedHeader(text string) (name string, ok bool) {
	text = strings.TrimPrefix(markdown.TrimLeft(text), "`")
	if text, ok = strings.CutPrefix(text, "###"); !ok {
		return "", false
	}
	if text, ok = strings.CutPrefix(markdown.TrimLeft(text), requirement.Keyword); !ok {
		return "", false
	}
	if name, ok = requirement.Text(text); !ok {
		return "", false
	}
	if closed := markdown.TrimRight(name); len(closed) > 1 {
		name = strings.TrimSuffix(closed, "`")
	}
	return requirement.CleanName(name), true
}
