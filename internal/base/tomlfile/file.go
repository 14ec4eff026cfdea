package tomlfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/platform"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
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
	f, err := os.OpenFile(path, os.O_RDONLY|platform.NonBlock, 0)
	if err != nil {
		return nil, usage.Cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, usage.Cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, usage.Cause(err)
	}
	if len(data) > MaxSize {
		return nil, errTooLarge
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
