// Package httpheader checks names and values of HTTP headers that configs, files and modules choose.
package httpheader

import (
	"net/http"
	"slices"
	"strings"
)

const (
	maxName    = 128 // bytes
	tokenChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+.^_`|~-"
)

// IsName reports whether s is a token of HTTP with 1 to 128 characters.
func IsName(s string) bool {
	return s != "" && len(s) <= maxName && strings.Trim(s, tokenChars) == ""
}

var connectionHeaders = []string{"Connection", "Content-Length", "Expect", "Host", "Http2-Settings", "Keep-Alive", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade"}

// IsOfConnection reports whether a header belongs to the connection: those with the prefix Proxy-, and those with which the framing of a request
// could be confused (request smuggling), or the next server made to drop other headers.
func IsOfConnection(name string) bool {
	canonical := http.CanonicalHeaderKey(name)
	return slices.Contains(connectionHeaders, canonical) || strings.HasPrefix(canonical, "Proxy-")
}

// IsValue reports whether a value has no control characters, with which it could inject headers.
func IsValue(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
