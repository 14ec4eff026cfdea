// Package textedit has what edits of text files need, whatever their syntax: lines by offset, the line ending, and replacing a range.
// The packages tomlfile and jsonfile find the offsets. Start with LineStart and Splice. The package knows no syntax.
package textedit

import "bytes"

// LineStart returns the offset of the beginning of the line that contains offset. A negative offset is in the first line.
func LineStart(data []byte, offset int) int {
	return bytes.LastIndexByte(data[:max(offset, 0)], '\n') + 1
}

// LineEnd returns the offset after the line that contains offset, with its line feed.
func LineEnd(data []byte, offset int) int {
	if n := bytes.IndexByte(data[offset:], '\n'); n >= 0 {
		return offset + n + 1
	}
	return len(data)
}

// Newline returns the line ending of data.
func Newline(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// Splice returns a copy of data in which the bytes from start to end are replaced.
func Splice(data []byte, start, end int, with string) []byte {
	out := make([]byte, 0, len(data)+len(with))
	out = append(out, data[:start]...)
	out = append(out, with...)
	return append(out, data[end:]...)
}
