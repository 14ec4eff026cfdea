// Package scan splits a JSON object into its members without decoding them. The SDK parses requests with it, which the
// host has validated as JSON: encoding/json would scan each level of a request's envelope again, and in a module that
// scanning is most of the cost of a small call.
package scan

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ErrNotObject is the error of Object for input that is not a JSON object.
var ErrNotObject = errors.New("not a JSON object")

// Object calls member for each member of the JSON object in text, in order; of duplicate
// keys the last one counts. The key is decoded, the value is a slice of text. Values are not validated: decoding one does
// that.
func Object(text []byte, member func(key, value []byte)) error {
	i := skipSpace(text, 0)
	if i == len(text) || text[i] != '{' {
		return ErrNotObject
	}
	i = skipSpace(text, i+1)
	if i < len(text) && text[i] == '}' {
		return nil
	}
	for i < len(text) && text[i] == '"' {
		keyEnd := stringEnd(text, i)
		if keyEnd < 0 {
			return ErrNotObject
		}
		key, ok := decodeKey(text[i:keyEnd])
		if !ok {
			return ErrNotObject
		}
		i = skipSpace(text, keyEnd)
		if i == len(text) || text[i] != ':' {
			return ErrNotObject
		}
		i = skipSpace(text, i+1)
		end := valueEnd(text, i)
		if end <= i {
			return ErrNotObject
		}
		member(key, text[i:end])
		i = skipSpace(text, end)
		if i == len(text) {
			return ErrNotObject
		}
		if text[i] == '}' {
			return nil
		}
		if text[i] != ',' {
			return ErrNotObject
		}
		i = skipSpace(text, i+1)
	}
	return ErrNotObject
}

// decodeKey decodes a quoted key. The host compares decoded keys, too: a key that it has checked must not mean another
// one here.
func decodeKey(quoted []byte) ([]byte, bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], true
	}
	var key string
	err := json.Unmarshal(quoted, &key)
	return []byte(key), err == nil
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// stringEnd returns the index after the string that begins at i; -1 if it is not terminated.
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

// valueEnd returns the index after the value that begins at i; -1 if it is not terminated.
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
				return i // the end of the enclosing object, after a number or literal
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
