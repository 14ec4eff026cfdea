package gateway

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	readBuffer = 64 << 10 // bytes
	keptHead   = 4 << 10  // bytes kept of a line that is too long, in which leadingID finds its id
)

// lineReader splits a stream into lines of bounded length.
type lineReader struct {
	in  *bufio.Reader
	max int64 // bytes of a line, without its line break
}

func newLineReader(in io.Reader, max int64) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, readBuffer), max: max}
}

// next returns the next line, trimmed; the caller owns the slice. If a line exceeds the bound, it returns the first
// keptHead bytes with long set, and skips the rest. The error is that of the stream, or io.EOF at its end. An
// unterminated last line is returned together with io.EOF, and is dropped on any other error.
func (r *lineReader) next() (line []byte, long bool, err error) {
	for {
		var chunk []byte
		chunk, err = r.in.ReadSlice('\n')
		switch size := int64(len(line)) + int64(len(bytes.TrimRight(chunk, "\r\n"))); {
		case long:
		case size > r.max:
			long = true
			line = append(line, chunk...)
			line = bytes.Clone(line[:min(len(line), keptHead)])
		default:
			line = append(line, chunk...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false, err
	}
	return bytes.Trim(line, " \t\r\n"), long, err
}
