package tomlfile

import (
	"bytes"
	"sort"
)

// lines maps offsets to line numbers.
type lines []int // the offset of each newline

func newLines(data []byte) lines {
	ls := make(lines, 0, bytes.Count(data, []byte{'\n'}))
	for i, c := range data {
		if c == '\n' {
			ls = append(ls, i)
		}
	}
	return ls
}

// of returns the line of offset, starting at 1.
func (ls lines) of(offset int) int {
	return sort.SearchInts(ls, offset) + 1
}

// tooDeep returns the offset of the first bracket that exceeds maxNesting, or -1. It only needs to skip strings and comments:
// up to the first syntax error, where every parser stops, it sees the same brackets as a parser.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); {
		switch c := data[i]; c {
		case '#':
			i = skipTo(data, i, '\n')
			continue
		case '"', '\'':
			i = skipString(data, i)
			continue
		case '[', '{':
			if depth++; depth > maxNesting {
				return i
			}
		case ']', '}':
			depth = max(depth-1, 0)
		}
		i++
	}
	return -1
}

func skipTo(data []byte, i int, c byte) int {
	if n := bytes.IndexByte(data[i:], c); n >= 0 {
		return i + n
	}
	return len(data)
}

// skipString returns the offset after the string that starts at i.
func skipString(data []byte, i int) int {
	quote := data[i]
	triple := bytes.Repeat([]byte{quote}, 3)
	if !bytes.HasPrefix(data[i:], triple) {
		for i++; i < len(data) && data[i] != quote && data[i] != '\n'; i++ {
			if data[i] == '\\' && quote == '"' {
				i++
			}
		}
		return i + 1
	}
	for i += 3; i < len(data); i++ {
		if data[i] == '\\' && quote == '"' {
			i++
			continue
		}
		if bytes.HasPrefix(data[i:], triple) {
			// Up to two more quotes belong to the content of the string.
			for i += 3; i < len(data) && data[i] == quote; i++ {
			}
			return i
		}
	}
	return len(data)
}
