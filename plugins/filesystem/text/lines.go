package text

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
)

const (
	block = 64 << 10 // bytes that are read at a time
	chunk = 1 << 10  // bytes after which Tail may end; part of the contract, since fractions of a line depend on it
)

// Head returns the first lines of a text without the line break after them. A fraction counts as a line.
func Head(r io.Reader, lines float64) (string, error) {
	var read []byte
	end, found := 0, 0.0 // the text before end has found line breaks
	for found < lines {
		read = slices.Grow(read, block)
		n, err := r.Read(read[len(read) : len(read)+block])
		read = read[:len(read)+n]
		for found < lines {
			at := bytes.IndexByte(read[end:], '\n')
			if at < 0 {
				break
			}
			end, found = end+at+1, found+1
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return "", err
		}
	}
	if found < lines {
		end = len(read)
	}
	return strings.TrimSuffix(Decode(read[:end]), "\n"), nil
}

// Tail returns the last lines of a text of size bytes.
func Tail(r io.ReaderAt, size int64, lines float64) (string, error) {
	if size == 0 {
		return "", nil
	}
	var blocks [][]byte
	for at, found := size, 0.0; at > 0 && found < lines; {
		raw := make([]byte, min(block, at))
		if n, err := r.ReadAt(raw, at-int64(len(raw))); n < len(raw) {
			return "", err
		}
		begin := len(raw)
		for begin > 0 && found < lines {
			next := max(begin-chunk, 0)
			found += float64(bytes.Count(raw[next:begin], []byte{'\n'}))
			begin = next
		}
		blocks = append(blocks, raw[begin:])
		at -= int64(len(raw))
	}
	slices.Reverse(blocks)
	all := strings.Split(Normalize(Decode(bytes.Join(blocks, nil))), "\n")
	return strings.Join(all[sliceStart(-lines, len(all)):], "\n"), nil
}

// sliceStart returns where Array.prototype.slice begins in an array of n elements.
func sliceStart(start float64, n int) int {
	start = math.Trunc(start)
	if start < 0 {
		start = max(start+float64(n), 0)
	}
	return int(min(start, float64(n)))
}
