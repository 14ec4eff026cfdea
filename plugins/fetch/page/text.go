package page

import (
	"mime"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
)

// decode converts a body to UTF-8 from the character set that its Content-Type names; UTF-8 if it names none that is known. What a page
// says of itself is ignored, as by the server that this plugin replaces. Invalid bytes become U+FFFD.
func decode(body []byte, contentType string) string {
	text, err := encodingOf(contentType).NewDecoder().Bytes(body)
	if err != nil { // a decoder replaces invalid bytes, so it fails only if it has a fault of its own
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	return string(text)
}

func encodingOf(contentType string) encoding.Encoding {
	_, parameters, _ := mime.ParseMediaType(contentType) // of a malformed one there are no parameters
	name := strings.ToLower(parameters["charset"])
	switch name {
	case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin-1", "latin1", "l1":
		return charmap.ISO8859_1 // for browsers it is windows-1252
	}
	if known, err := htmlindex.Get(name); err == nil {
		return known
	}
	return unicode.UTF8
}
