package rawjson

import (
	"bytes"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Unquote decodes a JSON string as encoding/json does. It returns false for any other value.
func Unquote(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return "", false
	}
	inner := value[1 : len(value)-1]
	if !utf8.Valid(inner) {
		inner = []byte(string([]rune(string(inner)))) // converts each invalid byte to U+FFFD
	}
	end := plainEnd(inner, 0, 0)
	if end == len(inner) {
		return string(inner), true
	}
	out := make([]byte, 0, len(inner))
	for {
		out = append(out, inner[:end]...)
		if inner = inner[end:]; len(inner) == 0 {
			return string(out), true
		}
		size := 0
		if inner[0] == '\\' {
			size = escapeSize(inner)
		}
		if size == 0 { // the escape is not valid, or the byte is a quote or a control character
			return "", false
		}
		out, inner = appendUnescaped(out, inner, size)
		end = plainEnd(inner, 0, 0)
	}
}

// appendUnescaped appends the character for which the valid escape in the first size bytes of text stands. It returns the rest of text. A
// surrogate without its other half becomes U+FFFD.
func appendUnescaped(out, text []byte, size int) (extended, rest []byte) {
	const escapes, characters = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if size == 2 {
		return append(out, characters[strings.IndexByte(escapes, text[1])]), text[size:]
	}
	code := codeUnit(text)
	rest = text[size:]
	if pair, unpaired := surrogatePair(text); pair {
		code = utf16.DecodeRune(code, codeUnit(rest))
		rest = rest[size:]
	} else if unpaired {
		code = utf8.RuneError
	}
	return utf8.AppendRune(out, code), rest
}

// surrogatePair reports whether the valid escapes \uXXXX with which text begins are a pair of surrogates, and whether the first of them is a
// surrogate that belongs to no pair.
func surrogatePair(text []byte) (pair, unpaired bool) {
	code := codeUnit(text)
	if !utf16.IsSurrogate(code) {
		return false, false
	}
	const size = len(`\uXXXX`)
	rest := text[size:]
	pair = bytes.HasPrefix(rest, []byte(`\u`)) && escapeSize(rest) == size && utf16.DecodeRune(code, codeUnit(rest)) != utf8.RuneError
	return pair, !pair
}

// ReplaceUnpaired replaces the surrogates that belong to no pair by U+FFFD, as decoders in use do. It changes valid JSON in place: the
// escapes have the same size.
func ReplaceUnpaired(text []byte) {
	for i := 0; ; {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			return
		}
		i += next
		size := escapeSize(text[i:])
		if size > 2 {
			pair, unpaired := surrogatePair(text[i:])
			if unpaired {
				copy(text[i:], `\ufffd`)
			}
			if pair {
				size *= 2
			}
		}
		i += max(size, 1)
	}
}

// codeUnit decodes the valid escape \uXXXX with which text begins.
func codeUnit(text []byte) rune {
	code := rune(0)
	for _, c := range text[2:6] {
		digit := rune(c - '0')
		if c > '9' {
			digit = rune(c|0x20) - 'a' + 10
		}
		code = code<<4 | digit
	}
	return code
}
