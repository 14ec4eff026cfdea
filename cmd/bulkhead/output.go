package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// page is text that a command prints, in the style of where it is printed. The first error of a Write is returned by printPage.
type page struct {
	*bufio.Writer
	style term.Style
}

// paint is the function paint with the style of the page.
func (p page) paint(word string) string { return paint(p.style, word) }

// printPage prints what write writes.
func printPage(to io.Writer, write func(w page)) error {
	w := page{bufio.NewWriter(to), term.StyleOf(to)}
	write(w)
	return w.Flush()
}

// textOf returns where a command prints text: nowhere if it prints JSON on stdout.
func textOf(stdout io.Writer, asJSON bool) io.Writer {
	if asJSON {
		return io.Discard
	}
	return stdout
}

// printResult prints the result of a command: as JSON, or the text that write writes.
func printResult(c *cobra.Command, asJSON bool, result any, write func(w page)) error {
	if asJSON {
		return printJSON(c.OutOrStdout(), result)
	}
	return printPage(c.OutOrStdout(), write)
}

// resultError returns err, or exitNo for a negative result that has been printed.
func resultError(err error, ok bool) error {
	if err == nil && !ok {
		return exitStatus(exitNo)
	}
	return err
}

// printJSON prints v as JSON that is safe on a terminal: invisible and control characters are escaped.
func printJSON(w io.Writer, v any) error {
	text, err := rawjson.MarshalIndent(v, "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s\n", escapeInvisible(text))
	return err
}

// escapeInvisible replaces characters that are not visible on a terminal by \u escapes. In valid JSON they occur only
// in strings, so the value is the same.
func escapeInvisible(text []byte) []byte {
	if !bytes.ContainsFunc(text, needsEscape) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	for _, r := range string(text) {
		switch {
		case !needsEscape(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

func needsEscape(r rune) bool { return r >= 0x7f && !visible.Rune(r) }
