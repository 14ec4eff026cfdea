// Package redact takes the secrets out of URLs: the user and password, the values of the query, and the
// fragment. URL is for what is known to be a URL, Text for any text that may hold some.
package redact

import (
	"regexp"
	"strings"
)

// mask stands where something was.
const mask = "***"

var (
	scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	port   = regexp.MustCompile(`^[^:]*(:[0-9]*)?$|^\[`)
)

// Text returns the text with all URLs in it masked. Where it cannot be told where a URL ends, more is masked
// rather than less.
func Text(text string) string {
	begins := scheme.FindAllStringIndex(text, -1)
	if begins == nil {
		return text
	}
	out := text[:begins[0][0]]
	for i, at := range begins {
		end := len(text)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		part := text[at[0]:end]
		length := strings.IndexAny(part, "\n")
		if length < 0 {
			length = len(part)
		}
		// A password may hold blanks and quotes: they end a URL only if nothing behind them can belong to a user.
		if blank := strings.IndexAny(part, " \t\n\"'<>"); blank >= 0 && !strings.Contains(part[blank:length], "@") {
			length = blank
		}
		out += URL(part[:length]) + part[length:]
	}
	return out
}

// URL returns a URL without its secrets, or what has no scheme as it is.
func URL(url string) string {
	at := scheme.FindStringIndex(url)
	if at == nil || at[0] != 0 {
		return url
	}
	rest, tail := url[at[1]:], ""
	if end := userEnd(rest); end > 0 {
		rest = mask + rest[end:]
	}
	if at := strings.IndexByte(rest, '#'); at >= 0 {
		rest, tail = rest[:at], "#"+mask
	}
	if at := strings.IndexByte(rest, '?'); at >= 0 {
		rest, tail = rest[:at], "?"+query(rest[at+1:])+tail
	}
	return url[:at[1]] + rest + tail
}

// userEnd returns where, behind a URL's scheme, the @ is that ends user and password; 0 if there are none. An @
// in the path is none, unless what should be a host is none: then a password holds a slash that it should not.
func userEnd(rest string) int {
	host := rest
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		host = rest[:at]
	}
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		return at
	}
	if port.MatchString(host) {
		return 0
	}
	return max(0, strings.LastIndexByte(rest, '@'))
}

// query masks the values of a query; a part without a name is a value.
func query(text string) string {
	parts := strings.Split(text, "&")
	for i, part := range parts {
		if name, _, ok := strings.Cut(part, "="); ok {
			parts[i] = name + "=" + mask
		} else {
			parts[i] = mask
		}
	}
	return strings.Join(parts, "&")
}
