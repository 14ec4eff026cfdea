package tomlfile

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Limits of a file, far above what a person writes. They bound the time to read a malicious file: one of the two parsers
// recurses, and the decoder builds a string for the path of every key.
const (
	MaxSize     = 1 << 20 // bytes
	maxNesting  = 64      // depth of arrays and inline tables
	maxKeyParts = 32      // parts of a dotted key
	maxKeyLen   = 256     // bytes of a part
	maxPathText = 8 << 20 // total bytes of the paths of all keys
	maxProblems = 100     // reported problems of a file

	// MaxItems limits an array of strings: its readers search for duplicates in quadratic time.
	MaxItems = 1000
)

// ReadFile reads a regular file of at most MaxSize bytes. It refuses other types of files and does not block on a FIFO.
func ReadFile(path string) ([]byte, error) {
	data, err := filesystem.ReadFile(filesystem.OS{}, path, MaxSize)
	switch {
	case errors.Is(err, filesystem.ErrNotRegular):
		return nil, errors.New("is not a regular file")
	case errors.Is(err, filesystem.ErrTooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, usage.Cause(err)
	}
	return data, nil
}

var errTooLarge = fmt.Errorf("is larger than the limit of %d KiB", MaxSize>>10)

// TestOnlyOnParse is called by each Parse, with its arguments. Only tests set it.
var TestOnlyOnParse func(file string, data []byte)

// Parse parses TOML. file is the name of the file in problems. If data is invalid, Parse returns a nil Doc and the problems.
// Otherwise it returns no problems: problems are found while the document's tables are read, and Doc.Problems returns them.
func Parse(file string, data []byte) (*Doc, Problems) {
	if TestOnlyOnParse != nil {
		TestOnlyOnParse(file, data)
	}
	refuse := func(line int, what, remedy string) (*Doc, Problems) {
		return nil, Problems{{File: file, Line: line, What: what, Remedy: remedy}}
	}
	if len(data) > MaxSize {
		return refuse(0, errTooLarge.Error(), "")
	}
	lines := newLines(data)
	if off := invalidUTF8(data); off >= 0 {
		return refuse(lines.of(off), "is not UTF-8", "save the file as UTF-8")
	}
	if off := tooDeep(data); off >= 0 {
		return refuse(lines.of(off), fmt.Sprintf("is nested more than %d deep", maxNesting), "")
	}
	b := builder{lines: lines}
	if err := b.build(data); err != nil {
		return refuse(err.line, err.what, err.remedy)
	}
	values, err := decode(data)
	if err != nil {
		return refuse(err.line, err.what, err.remedy)
	}
	if b.conflict != nil {
		return refuse(b.conflict.line, b.conflict.what, b.conflict.remedy)
	}
	if n := b.root.attach(values); n != nil {
		return refuse(n.line, "is ambiguous: TOML parsers disagree", "write it in a simpler form")
	}
	return newDoc(file, data, values, b.root), nil
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// syntaxError is the reason why a file is invalid.
type syntaxError struct {
	line         int
	what, remedy string
}
