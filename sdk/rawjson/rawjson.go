// Package rawjson scans JSON without decoding it, and encodes JSON without HTML escapes. Start with Members, which yields an object's keys and
// encoded values in one pass over the bytes (encoding/json needs three passes), and with Marshal.
//
// Functions that read JSON require valid JSON, such as the parameters that the host passes to a plugin. For other input they terminate and
// read only bytes of the slice, but their results are unspecified. Only Scanner, ScanObject and Valid accept untrusted input, which they
// validate.
//
// Stability: additions only within a major version.
package rawjson

import (
	"bytes"
	"iter"
)

// Members yields the members of an object in order, with unquoted keys and encoded values. For any other value it yields nothing.
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

// members yields what Members does, but with encoded keys.
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
			i = skipSpace(object, skipSpace(object, end)+1) // skips the colon
			if i >= len(object) {
				return
			}
			end = ValueEnd(object, i)
			if !yield(key, object[i:end]) {
				return
			}
			if i = skipSpace(object, end); i >= len(object) || object[i] != ',' {
				return
			}
		}
	}
}

// Elements yields the encoded elements of an array. For any other value it yields nothing.
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
			end := ValueEnd(array, i)
			if !yield(n, array[i:end]) {
				return
			}
			if i = skipSpace(array, end); i >= len(array) || array[i] != ',' {
				return
			}
		}
	}
}

// skipSpace returns the index of the first byte of b, from index i on, that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// ValueEnd returns the index after the value that begins at index i of valid JSON. There must be a value, without white space before it.
func ValueEnd(b []byte, i int) int {
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

// stringEnd returns the index after the string whose opening quote is at index i.
func stringEnd(b []byte, i int) int {
	for j := i + 1; j < len(b); {
		quote := bytes.IndexByte(b[j:], '"')
		if quote < 0 {
			break
		}
		j += quote
		escapes := 0 // an odd number of backslashes escapes the quote
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

// Kind returns the kind of a value: '{', '[', '"', 't' (true or false), '0' (a number), 'n' (null), or 0 if value is blank.
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

// Member returns the encoded value of an object's member; nil if there is none. Of duplicate members it returns the last.
func Member(object []byte, name string) (value []byte) {
	for key, v := range members(object) {
		if isKey(key, name) {
			value = v
		}
	}
	return value
}

// isKey reports whether an encoded key means name. If the key has no escapes, isKey does not allocate.
func isKey(key []byte, name string) bool {
	if bytes.IndexByte(key, '\\') < 0 {
		return len(key) == len(name)+2 && string(key[1:len(key)-1]) == name
	}
	text, _ := Unquote(key)
	return text == name
}

// Replace returns a copy of object in which the member called name has a new value and comes first. If value is nil, the member is removed.
// The other members keep their order and encoded values.
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
