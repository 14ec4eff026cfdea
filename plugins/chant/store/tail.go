package store

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBlock is the size of the part of a file that readTail reads first, in bytes. Each further part is four times as
// large.
const tailBlock = 64 << 10

// Tail returns the last lines of a file, without the final newline. It reads at most max bytes, backwards from the end
// of the file. The result cut reports whether some of the requested lines are missing because of max. Tail replaces
// CRLF by a newline, and invalid UTF-8 by U+FFFD.
func Tail(path string, lines uint64, max int64) (text string, cut bool, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", false, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", false, err
	}
	if !info.Mode().IsRegular() {
		return "", false, fmt.Errorf("%s: not a regular file", path)
	}
	if lines == 0 {
		return "", false, nil
	}
	data, cut, err := readTail(file, info.Size(), lines, max)
	if err != nil {
		return "", false, fmt.Errorf("%s: %w", path, err)
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n", "\n")
	return strings.TrimSuffix(text, "\n"), cut, nil
}

// readTail returns the last lines of a file with the given size. If max prevents readTail from reading all requested
// lines, the result begins at the start of a line, unless a single line is longer than max.
func readTail(file io.ReaderAt, size int64, lines uint64, max int64) (data []byte, cut bool, err error) {
	most := min(size, max)
	for length := min(tailBlock, most); ; length = min(4*length, most) {
		data = make([]byte, length)
		if _, err := io.ReadFull(io.NewSectionReader(file, size-length, length), data); err != nil {
			return nil, false, err
		}
		if at := lastLines(data, lines); at > 0 {
			return data[at:], false, nil
		}
		if length == most {
			break
		}
	}
	if most == size {
		return data, false, nil
	}
	if _, rest, found := bytes.Cut(data, []byte("\n")); found && len(rest) > 0 {
		data = rest
	}
	return data, true, nil
}

// lastLines returns the index at which the last lines of data begin; 0 if data lacks the newline before these lines.
func lastLines(data []byte, lines uint64) int {
	at := len(bytes.TrimSuffix(data, []byte("\n"))) // the final newline ends the last line
	for ; lines > 0 && at >= 0; lines-- {
		at = bytes.LastIndexByte(data[:at], '\n')
	}
	return at + 1
}
