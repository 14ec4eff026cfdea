package store

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// tailBlock is the size of the blocks that readTail reads, in bytes.
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
	var blocks [][]byte // the blocks of the file, the last block first
	var newlines uint64
	start, floor := size, size-min(size, max)
	for start > floor {
		length := min(tailBlock, start-floor)
		block := make([]byte, length)
		if _, err := io.ReadFull(io.NewSectionReader(file, start-length, length), block); err != nil {
			return nil, false, err
		}
		counted := block
		if start == size { // skip the final newline, which ends the last line
			counted = bytes.TrimSuffix(block, []byte("\n"))
		}
		if n := uint64(bytes.Count(counted, []byte("\n"))); newlines+n >= lines {
			block = block[lineStart(counted, lines-newlines):]
			return joinBackwards(append(blocks, block)), false, nil
		} else {
			newlines += n
		}
		blocks = append(blocks, block)
		start -= length
	}
	data = joinBackwards(blocks)
	if start == 0 {
		return data, false, nil
	}
	if _, rest, found := bytes.Cut(data, []byte("\n")); found && len(rest) > 0 {
		data = rest
	}
	return data, true, nil
}

// lineStart returns the index after the nth newline from the end of block. The block must have at least n newlines.
func lineStart(block []byte, n uint64) int {
	at := len(block)
	for ; n > 0; n-- {
		at = bytes.LastIndexByte(block[:at], '\n')
	}
	return at + 1
}

func joinBackwards(blocks [][]byte) []byte {
	var size int
	for _, block := range blocks {
		size += len(block)
	}
	data := make([]byte, 0, size)
	for i := len(blocks) - 1; i >= 0; i-- {
		data = append(data, blocks[i]...)
	}
	return data
}
