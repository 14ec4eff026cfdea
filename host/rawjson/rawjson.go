// Package rawjson walks JSON without decoding it: Members and Elements yield the parts of a value as they
// stand, in one pass over the bytes where encoding/json takes three.
//
// Its functions require valid JSON. Given anything else they stay inside the slice and end, but their results mean
// nothing. Only Scanner and Valid accept untrusted text: they validate it.
package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Members yields an object's members in their order, keys without escapes and values as they stand.
// Any other value has none.
func Members(object []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, value := range members(object) {
			name, _ := Unquote(key)
			if !yield(name, value) {
				return
			}
		}
	}
}

// members yields keys as they stand, in quotes.
func members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func([]byte, []byte) bool) {
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
			key := object[i:end]
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

// Elements yields an array's values as they stand. Any other value has none.
func Elements(array []byte) iter.Seq2[int, []byte] {
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

// Kind tells values apart by their first byte that is not white space: '{', '[', '"', 't' (both truth values), '0' (a number),
// 'n' (null), or 0 if there is no value.
func Kind(value []byte) byte {
	i := skipSpace(value, 0)
	if i >= len(value) {
		return 0
	}
	switch c := value[i]; c {
	case 't', 'f':
		return 't'
	case '{', '[', '"', 'n':
		return c
	}
	return '0'
}

// Unquote is the text of a JSON string; false if value is none.
func Unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	var text string
	err := json.Unmarshal(value, &text)
	return text, err == nil
}

// Quote is text as a JSON string, with < > & as they are.
func Quote(text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// Member is the value of an object's key, the last where it is given twice; nil if there is none.
func Member(object []byte, name string) (value []byte) {
	for key, v := range members(object) {
		if isKey(key, name) {
			value = v
		}
	}
	return value
}

// isKey tells whether a key in quotes stands for name, without a copy of it where it has no escapes.
func isKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return len(key) == len(name)+2 && string(key[1:len(key)-1]) == name
	}
	text, _ := Unquote(key)
	return text == name
}

// Replace is an object with another value for a key, which comes first then; nil leaves the key out. The other
// members keep their order and their bytes.
func Replace(object []byte, name string, value []byte) []byte {
	out := append(make([]byte, 0, len(object)+len(name)+len(value)+8), '{')
	member := func(key string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, Quote(key)...), ':'), value...)
	}
	if value != nil {
		member(name, value)
	}
	for key, value := range Members(object) {
		if key != name {
			member(key, value)
		}
	}
	return append(out, '}')
}
