// Package address parses URLs as browsers do (https://url.spec.whatwg.org), since people and models write them so: "HTTP:host", spaces,
// backslashes, international names. Start with Parse. What a URL may reach is not decided here: the host decides it by the grant.
package address

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The reasons why a string is not a URL.
var (
	ErrEmpty    = errors.New("input is empty")
	ErrRelative = errors.New("relative URL without a base")
	ErrHost     = errors.New("empty host")
	ErrPort     = errors.New("invalid port number")
	ErrName     = errors.New("invalid international domain name")
	ErrIPv6     = errors.New("invalid IPv6 address")
)

// Parse parses a URL and normalizes it: scheme and host in lower case, international names as punycode, no default port, no "." and ".."
// in the path, other characters percent-encoded. A URL that is not of a web server is not normalized.
func Parse(text string) (*url.URL, error) {
	if text == "" {
		return nil, ErrEmpty
	}
	text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.Trim(text, whitespace))
	scheme, rest, found := strings.Cut(text, ":")
	if scheme = strings.ToLower(scheme); !found || !isScheme(scheme) {
		return nil, ErrRelative
	}
	if scheme != "http" && scheme != "https" {
		u, err := url.Parse(escape(text))
		if err != nil {
			return nil, ErrRelative
		}
		return u, nil
	}
	return parseWeb(scheme, strings.TrimLeft(rest, `/\`))
}

// whitespace are the control characters and the space, which are cut off at both ends.
var whitespace = func() string {
	var all strings.Builder
	for c := range rune(' ' + 1) {
		all.WriteRune(c)
	}
	return all.String()
}()

func isScheme(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	return s != "" && strings.Contains(letters, s[:1]) && strings.Trim(s, letters+"0123456789+-.") == ""
}

// parseWeb parses what follows scheme and slashes.
func parseWeb(scheme, rest string) (*url.URL, error) {
	end := strings.IndexAny(rest, `/\?#`)
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	user, host := "", authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, host = strings.ReplaceAll(escape(authority[:at]), "@", "%40")+"@", authority[at+1:]
	}
	host, err := normalizeHost(scheme, host)
	if err != nil {
		return nil, err
	}
	rest, fragment, hasFragment := strings.Cut(rest, "#")
	path, query, hasQuery := strings.Cut(rest, "?")
	text := scheme + "://" + user + host + "/" + escape(strings.TrimPrefix(strings.ReplaceAll(path, `\`, "/"), "/"))
	if hasQuery {
		text += "?" + strings.ReplaceAll(escape(query), "'", "%27")
	}
	if hasFragment {
		text += "#" + escape(fragment)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, ErrRelative
	}
	return u.ResolveReference(u), nil // removes the dot segments
}

// normalizeHost normalizes a host with its port.
func normalizeHost(scheme, host string) (string, error) {
	port := ""
	if colon := strings.LastIndexByte(host, ':'); colon > strings.LastIndexByte(host, ']') {
		host, port = host[:colon], host[colon+1:]
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return "", ErrPort
		}
		port = fmt.Sprintf(":%d", n)
	}
	if scheme == "http" && port == ":80" || scheme == "https" && port == ":443" {
		port = ""
	}
	switch {
	case host == "":
		return "", ErrHost
	case strings.HasPrefix(host, "["):
		if !strings.HasSuffix(host, "]") {
			return "", ErrIPv6
		}
		return strings.ToLower(host) + port, nil
	}
	host, err := url.PathUnescape(host)
	if err == nil && utf8.ValidString(host) {
		host, err = names.ToASCII(host)
	}
	if again, fault := names.ToASCII(host); err != nil || fault != nil || again != host || strings.ContainsAny(host, whitespace+"#%/:<>?@[\\]^|\x7f") {
		return "", ErrName
	}
	return host + port, nil
}

// names converts international names as browsers do.
var names = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false), idna.CheckHyphens(false))

// escape percent-encodes what must not be in a URL as it is. Escapes that exist are kept.
func escape(s string) string {
	var out strings.Builder
	for i := range len(s) {
		c := s[i]
		if c == '%' && (len(s) < i+3 || !isHex(s[i+1]) || !isHex(s[i+2])) || c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>`{}", c) >= 0 {
			fmt.Fprintf(&out, "%%%02X", c)
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
