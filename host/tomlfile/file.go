package tomlfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
	"unicode/utf8"
)

// The bounds of a file. They are far above what a person writes; they keep a hostile file from costing
// more than a moment, since one of the two parsers recurses and keeps a text of every key's path.
const (
	MaxSize     = 1 << 20 // bytes
	maxNesting  = 64      // arrays and inline tables inside each other
	maxKeyParts = 32      // parts of one dotted key
	maxKeyLen   = 256     // bytes of one part
	maxPathText = 8 << 20 // bytes of the paths of all keys together, as the decoder spells them out
	maxProblems = 100     // reported for one file

	// MaxItems bounds an array of strings, whose readers look for duplicates.
	MaxItems = 1000
)

// ReadFile reads at most MaxSize bytes of the regular file at path. Anything else there, such as a FIFO,
// is refused without waiting for it.
func ReadFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("is not a regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, cause(err)
	}
	if len(data) > MaxSize {
		return nil, errTooLarge
	}
	return data, nil
}

var errTooLarge = fmt.Errorf("is larger than the %d KiB that are read", MaxSize>>10)

// cause leaves the path out, which the problem that reports err names already.
func cause(err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		return perr.Err
	}
	return err
}

// Parse reads data as TOML. file is how problems name it. Where data cannot be read, the document is nil
// and the problems say why. Otherwise there are none yet: reading through the document's tables finds
// them, and Doc.Problems has them.
func Parse(file string, data []byte) (*Doc, Problems) {
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
		return refuse(n.line, "can be understood in two ways", "write it more plainly")
	}
	return newDoc(file, b.root), nil
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

// syntaxError is why a file cannot be read.
type syntaxError struct {
	line         int
	what, remedy string
}
