package gateway

import (
	"bytes"
	"encoding/json"
	"iter"
)

// The functions below walk JSON that json.Valid has accepted, without decoding it: one pass over the
// bytes where encoding/json takes three, and values keep their own bytes. Given anything else they
// stay inside the slice and end, but mean nothing.

// members yields an object's members in their order, keys without escapes and values as they stand.
// Any other value has none.
func members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		i := skipSpace(object, 0)
		if i >= len(object) || object[i] != '{' {
			return
		}
		for {
			i = skipSpace(object, i+1)
			if i >= len(object) || object[i] != '"' {
				return
			}
			end := stringEnd(object, i)
			key, _ := unquote(object[i:end])
			i = skipSpace(object, skipSpace(object, end)+1) // past the colon
			if i >= len(object) {
				return
			}
			end = valueEnd(object, i)
			if !yield(key, object[i:end]) {
				return
			}
			if i = skipSpace(object, end); i >= len(object) || object[i] != ',' {
				return
			}
		}
	}
}

// elements yields an array's values as they stand. Any other value has none.
func elements(array []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		i := skipSpace(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		for n := 0; ; n++ {
			i = skipSpace(array, i+1)
			if i >= len(array) || array[i] == ']' {
				return
			}
			end := valueEnd(array, i)
			if !yield(n, array[i:end]) {
				return
			}
			if i = skipSpace(array, end); i >= len(array) || array[i] != ',' {
				return
			}
		}
	}
}

// skipSpace is the index of the first byte at or after i that is not JSON's white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// valueEnd is the index after the value that begins at i.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
	case '{', '[':
		return nestedEnd(b, i)
	}
	for i < len(b) && bytes.IndexByte([]byte(",]} \t\n\r"), b[i]) < 0 {
		i++
	}
	return i
}

func nestedEnd(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = stringEnd(b, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(b)
}

// stringEnd is the index after the string whose opening quote is at i.
func stringEnd(b []byte, i int) int {
	for j := i + 1; j < len(b); {
		quote := bytes.IndexByte(b[j:], '"')
		if quote < 0 {
			break
		}
		j += quote
		escapes := 0 // an odd run of backslashes escapes the quote after it
		for b[j-1-escapes] == '\\' {
			escapes++
		}
		j++
		if escapes%2 == 0 {
			return j
		}
	}
	return len(b)
}

// kind tells values apart by their first byte: '{', '[', '"', 't' (both truth values), '0' (a number),
// 'n' (null), or 0 if there is no value.
func kind(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	switch c := value[0]; c {
	case 't', 'f':
		return 't'
	case '{', '[', '"', 'n':
		return c
	}
	return '0'
}

// unquote is the text of a JSON string; false if value is none.
func unquote(value []byte) (string, bool) {
	if kind(value) != '"' || len(value) < 2 {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// quote is text as a JSON string, with < > & as they are.
func quote(text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// oneLine is value without line breaks, which valid JSON has only between its tokens.
func oneLine(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	line := bytes.Clone(value)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
