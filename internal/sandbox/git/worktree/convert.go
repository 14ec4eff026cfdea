package worktree

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/attributes"
)

// ending states which line endings git converts to line feeds when a file is added.
type ending int

const (
	endingKept ending = iota
	endingAuto        // those of files that are text by their content, and have no CRLF in the index
	endingText        // all
)

// endingOf returns what git does with the line endings of a file with certain attributes. auto is set if core.autocrlf is true or input.
func endingOf(given map[string]attributes.State, auto bool) ending {
	for _, name := range []string{"text", "crlf"} { // crlf is the old name
		switch state := given[name]; {
		case state == attributes.Set || state == "input":
			return endingText
		case state == attributes.Unset:
			return endingKept
		case state == "auto":
			return endingAuto
		}
	}
	switch given["eol"] {
	case "lf", "crlf":
		return endingText
	}
	if auto {
		return endingAuto
	}
	return endingKept
}

// checkConversion returns an error that says why git would store a file with other content; nil if it would not. indexed is the entry of
// the file in the index; nil if it has none.
func (a *adder) checkConversion(name string, content []byte, indexed *indexEntry) error {
	given, err := a.attributes.File(name)
	if err != nil {
		return err
	}
	refuse := func(format string, values ...any) error {
		return fmt.Errorf("%s: %s, which is not supported: run git yourself, or change the attribute or setting",
			hosterror.Truncate(name), fmt.Sprintf(format, values...))
	}
	if state := given["filter"]; state.HasValue() {
		return refuse("the attribute filter=%s makes git convert the file by a program", hosterror.Truncate(string(state)))
	}
	encoding := given["working-tree-encoding"]
	if encoding != "" && !strings.EqualFold(string(encoding), "utf-8") && !strings.EqualFold(string(encoding), "utf8") {
		return refuse("the attribute working-tree-encoding makes git convert the file to UTF-8")
	}
	if given["ident"] == attributes.Set && bytes.Contains(content, []byte("$Id:")) {
		return refuse("the attribute ident makes git remove the content of $Id:$")
	}
	if !bytes.Contains(content, []byte("\r\n")) {
		return nil
	}
	switch endingOf(given, a.options.AutoCRLF) {
	case endingText:
		return refuse("an attribute (text or eol) makes git convert the file's line endings")
	case endingAuto:
		converts, err := a.convertsAuto(content, indexed)
		if converts {
			return refuse("the attribute text=auto or core.autocrlf makes git convert the file's line endings")
		}
		return err
	}
	return nil
}

// convertsAuto reports whether git converts the line endings of a file that has CRLF, if it decides by the content.
func (a *adder) convertsAuto(content []byte, indexed *indexEntry) (bool, error) {
	if isBinary(content) {
		return false, nil
	}
	if indexed == nil || indexed.mode == objects.ModeSubmodule || indexed.intent || indexed.stage != 0 {
		return true, nil
	}
	old, err := a.store.Get(indexed.hash, plumbing.BlobObject, maxAddFile)
	return err == nil && (isBinary(old) || !bytes.Contains(old, []byte("\r\n"))), err
}

// isBinary reports whether git takes a content for binary when it converts line endings.
func isBinary(content []byte) bool {
	printable, other := 0, 0
	for i, c := range content {
		switch {
		case c == 0, c == '\r' && (i+1 == len(content) || content[i+1] != '\n'):
			return true
		case c == '\r', c == '\n':
		case c == 127, c < 32 && c != '\b' && c != '\t' && c != '\f' && c != 27:
			other++
		default:
			printable++
		}
	}
	if n := len(content); n > 0 && content[n-1] == 26 { // the mark of the end of a file in DOS
		other--
	}
	return printable>>7 < other
}
