package term

import (
	"io"
	"os"
)

// Style colours text for one stream. The zero value leaves text unchanged. A colour must not carry information that the text
// lacks, for readers without colours.
type Style struct{ on bool }

// StyleOf returns the style for w: colours if w is a terminal that interprets them, unless NO_COLOR is set. CLICOLOR_FORCE
// turns them on for any stream.
func StyleOf(w io.Writer) Style {
	if os.Getenv("NO_COLOR") != "" {
		return Style{}
	}
	if force := os.Getenv("CLICOLOR_FORCE"); force != "" && force != "0" {
		return Style{on: true}
	}
	return Style{on: interprets(w)}
}

// Good colours a positive result.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Bad colours a negative result, an error or what was removed.
func (s Style) Bad(text string) string { return s.paint("31", text) }

// Warn colours a warning, or what needs attention.
func (s Style) Warn(text string) string { return s.paint("33", text) }

// Title emphasizes a heading.
func (s Style) Title(text string) string { return s.paint("1", text) }

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
