// Package guide reads the pages of the guide for plugin authors, and assembles the plugins whose parts a page shows, in Go and in each of
// Languages, so that tests compile and run the examples. Only tests use it.
package guide

import (
	"regexp"
	"strings"
)

// Block is a fenced block of a page.
type Block struct {
	Line     int    // line of its opening fence, from 1
	Language string // first word of the info string; empty if there is none
	// Untested is the reason why no test uses the block: the text after "not tested:" in the info string.
	Untested string
	// Label is the nearest non-empty line before the block, without backquotes and colons around it; empty if another block precedes. File
	// is the label if that is the name of a file.
	Label, File string
	Text        string
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9_/-]+(\.[a-z]+)+$`)

// Blocks returns the fenced blocks of a page in Markdown.
func Blocks(text string) []Block {
	var found []Block
	lines := strings.SplitAfter(text, "\n")
	for i := 0; i < len(lines); i++ {
		info, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), "```")
		if !ok {
			continue
		}
		b := Block{Line: i + 1}
		b.Language, info, _ = strings.Cut(info, " ")
		if reason, ok := strings.CutPrefix(info, "not tested:"); ok {
			b.Untested = strings.TrimSpace(reason)
		}
		for j := i - 1; j >= 0 && b.Label == "" && !strings.HasPrefix(lines[j], "```"); j-- {
			b.Label = strings.Trim(strings.TrimSpace(lines[j]), "`:")
		}
		if fileName.MatchString(b.Label) {
			b.File = b.Label
		}
		for i++; i < len(lines) && !strings.HasPrefix(strings.TrimSpace(lines[i]), "```"); i++ {
			b.Text += lines[i]
		}
		found = append(found, b)
	}
	return found
}

// Commands returns the commands of a block. In a console block, a command follows "$ " and precedes its output. In any other block each
// line is a command; the comment at its end is removed.
func (b Block) Commands() []Command {
	var all []Command
	if b.Language == "console" {
		for _, part := range strings.Split("\n"+b.Text, "\n$ ")[1:] {
			line, output, _ := strings.Cut(part, "\n")
			all = append(all, Command{Line: line, Output: strings.TrimRight(output, "\n")})
		}
		return all
	}
	for line := range strings.Lines(b.Text) {
		line, _, _ = strings.Cut(line, " # ")
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			all = append(all, Command{Line: line})
		}
	}
	return all
}

// Command is a line of a shell, and the output that the page shows for it.
type Command struct{ Line, Output string }
