// Package scan splits a JSON object into its members without decoding them. The SDK reads requests with
// it, which the host has checked to be valid JSON: encoding/json would scan each level of a request's
// envelope once more, and inside a module that scanning is most of what a small call costs.
package scan

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrNotObject is the error of Object for text that does not look like a JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Object calls member for each member of the JSON object in text, in order: of a key given twice the
// last counts. The key is without quotes and escapes, the value is a part of text. Only as much is checked as finding the
// members takes: whoever decodes a value checks it.
func Object(text []byte, member func(key, value []byte)) error {
	i := space(text, 0)
	if i == len(text) || text[i] != '{' {
		return ErrNotObject
	}
	i = space(text, i+1)
	if i < len(text) && text[i] == '}' {
		return nil
	}
	for i < len(text) && text[i] == '"' {
		keyEnd := stringEnd(text, i)
		if keyEnd < 0 {
			return ErrNotObject
		}
		key, ok := unescaped(text[i:keyEnd])
		if !ok {
			return ErrNotObject
		}
		i = space(text, keyEnd)
		if i == len(text) || text[i] != ':' {
			return ErrNotObject
		}
		i = space(text, i+1)
		end := valueEnd(text, i)
		if end <= i {
			return ErrNotObject
		}
		member(key, text[i:end])
		i = space(text, end)
		if i == len(text) {
			return ErrNotObject
		}
		if text[i] == '}' {
			return nil
		}
		if text[i] != ',' {
			return ErrNotObject
		}
		i = space(text, i+1)
	}
	return ErrNotObject
}

// unescaped is what a quoted key says. The host compares keys by what they say, too: one that it checked
// must not be another one here.
func unescaped(quoted []byte) ([]byte, bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], true
	}
	var key string
	err := json.Unmarshal(quoted, &key)
	return []byte(key), err == nil
}

func space(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// stringEnd is the index behind the string that begins at i; -1 if it does not end.
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// valueEnd is the index behind the value that begins at i; -1 if it does not end.
func valueEnd(text []byte, i int) int {
	depth := 0
	for i < len(text) {
		switch text[i] {
		case '"':
			if i = stringEnd(text, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // the end of the object around a number or word
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return -1
}
