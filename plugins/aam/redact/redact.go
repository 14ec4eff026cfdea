// Package redact masks the secrets in URLs: user and password, query values, and fragment. URL masks a string that is a
// URL, Text masks all URLs in any string.
//
// URLs need not be valid, because a mistyped URL also contains its password. If it is ambiguous where a password ends,
// the longer part is masked. Strings must be masked before they are truncated: if the @ after a password is cut off,
// the password looks like a host.
package redact

import (
	"regexp"
	"strings"
)

// mask replaces a secret.
const mask = "***"

// blanks contains the characters that end a word, and the part of a URL after its host.
const blanks = " \t\n\"'<>"

// before contains the characters that may precede a URL in a word and do not occur in the user of a URL.
const before = "/\\\"'`(<[{=,"

var (
	scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	// at and colon match a character that may be percent-encoded, even repeatedly.
	at    = regexp.MustCompile(`@|%(?:25)*40`)
	colon = regexp.MustCompile(`:|%(?:25)*3[Aa]`)
	// host matches the host of a URL without a user, and the delimiter after it.
	host = regexp.MustCompile(`^(?:[^:%]*|\[[0-9A-Fa-f:.%]*\])(:[0-9]*)?[.,;)\]}]*$`)
)

// Text masks all URLs in a string, and all other addresses that contain a password, such as user:password@host:path.
func Text(text string) string {
	if !strings.ContainsAny(text, "@%") && !strings.Contains(text, "://") {
		return text // the common case
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = maskLine(line)
	}
	return strings.Join(lines, "\n")
}

func maskLine(line string) string {
	var begins [][]int
	if strings.Contains(line, "://") { // the expression takes much longer
		begins = scheme.FindAllStringIndex(line, -1)
	}
	var out strings.Builder
	done := 0
	for i := 0; i < len(begins); i++ {
		begin, rest := begins[i][0], begins[i][1]
		end := len(line)
		for i+1 < len(begins) {
			// A scheme within a word is part of a password or path, and does not start another URL.
			from := begins[i][1]
			between := line[from:begins[i+1][0]]
			if blank := strings.LastIndexAny(between, blanks); blank >= 0 {
				end = from + blank + 1
				break
			} else if strings.ContainsAny(between, "?#") {
				end = begins[i+1][0]
				break
			}
			i++
		}
		word := done + strings.LastIndexAny(line[done:begin], " \t") + 1
		out.WriteString(maskWords(line[done:word]))
		out.WriteString(maskURL(line[word:begin], line[begin:rest], line[rest:end]))
		done = end
	}
	out.WriteString(maskWords(line[done:]))
	return out.String()
}

// maskURL masks a URL, the part of the same word before the URL, and the words after the URL. Blanks and quotes end a
// URL only after the user, because a password may contain them.
func maskURL(front, scheme, text string) string {
	shown := front + scheme
	if user := userEnd(scheme, text, blanks); user > 0 {
		shown, text = front+scheme+mask, text[user:]
	}
	url := upTo(text, blanks)
	text = text[len(url):]
	// A scheme after a colon may be a nested scheme, as in jdbc:postgresql://, or part of a password.
	if masked := maskUser(shown + url); colon.MatchString(front) && masked != shown+url {
		return masked + maskWords(text)
	}
	return shown + maskTail(url) + maskWords(text)
}

// URL masks the secrets of a URL or path. In a path, only a user with a password is a secret.
func URL(url string) string {
	begin := scheme.FindStringIndex(url)
	if begin == nil || begin[0] != 0 {
		return maskPlain(url)
	}
	rest, shown := url[begin[1]:], ""
	if user := userEnd(url[:begin[1]], rest, ""); user > 0 {
		shown, rest = mask, rest[user:]
	}
	return url[:begin[1]] + shown + maskTail(rest)
}

// maskPlain masks an address without a scheme: a path, user@host:path as in ssh, or host/path.
func maskPlain(url string) string {
	for _, begin := range []string{"/", "./", "../", "~/", "@"} {
		if strings.HasPrefix(url, begin) && !strings.HasPrefix(url, "//") {
			return maskUser(url)
		}
	}
	if end := lastAt(url); end >= 0 {
		url = mask + url[end:]
	}
	return maskTail(url)
}

// userEnd returns the offset after the user and password in rest, the string after a URL's scheme; 0 if rest has
// neither. User and password reach to the last @ that can end them. If there is no such @, because the string was
// truncated, they reach to the end of the word, at the first of the characters in ends.
func userEnd(scheme, rest, ends string) int {
	authority := upTo(rest, "/?#")
	word := upTo(authority, ends)
	parts := host.FindStringSubmatch(word)
	last := lastAt(rest)
	switch {
	case lastAt(authority) >= 0:
		return last
	case parts == nil && last < 0:
		return len(upTo(rest, ends+"?#"))
	case parts == nil:
		return last
	case parts[1] == "" && isHost(strings.ToLower(scheme), word):
		return 0
	}
	// The string may begin with user:password although it looks like host:port. The @ of a package scope in the path,
	// as in /@acme, does not end a password.
	return max(0, lastAt(strings.ReplaceAll(rest, "/@", "//")))
}

// isHost reports whether word certainly begins with a host and not with a user, so that a later @ belongs to the path.
func isHost(scheme, word string) bool {
	switch scheme {
	case "file://":
		return word == "" || word == "localhost"
	case "http://", "https://":
		return strings.Contains(word, ".") || word == "localhost"
	}
	return false
}

func upTo(text, chars string) string {
	if end := strings.IndexAny(text, chars); end >= 0 {
		return text[:end]
	}
	return text
}

// maskTail masks the secrets in the rest of a URL after its user: a user in the path, the query values, and the
// fragment.
func maskTail(rest string) string {
	tail := ""
	if begin := strings.IndexByte(rest, '#'); begin >= 0 {
		rest, tail = rest[:begin], "#"+mask
	}
	if begin := strings.IndexByte(rest, '?'); begin >= 0 {
		rest, tail = rest[:begin], "?"+maskQuery(rest[begin+1:])+tail
	}
	path := len(upTo(rest, "/"))
	return rest[:path] + maskUser(rest[path:]) + tail
}

// maskQuery masks the values of a query. A part without = is masked completely.
func maskQuery(text string) string {
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

// maskWords masks each word of a string separately.
func maskWords(text string) string {
	if lastAt(text) < 0 {
		return text
	}
	words := strings.Split(text, " ")
	for i, word := range words {
		words[i] = maskUser(word)
	}
	return strings.Join(words, " ")
}

// maskUser masks a user with a password, up to the last @, in a string that is not a URL, and the values of a query
// after them. A user without a password is not masked, because an @ without a preceding colon belongs to a path, a
// package, or a mail address.
func maskUser(text string) string {
	from, to := firstColon(text)
	end := lastAt(text)
	if from < 0 || end <= to {
		return text
	}
	begin := strings.LastIndexAny(text[:from], before) + 1
	return text[:begin] + mask + maskTail(text[end:])
}

// firstColon returns the start and end of the first colon; -1 if there is none.
func firstColon(text string) (from, to int) {
	if strings.Contains(text, "%") {
		if found := colon.FindStringIndex(text); found != nil {
			return found[0], found[1]
		}
		return -1, -1
	}
	from = strings.IndexByte(text, ':')
	return from, from + 1
}

// lastAt returns the offset of the last @; -1 if there is none.
func lastAt(text string) int {
	if !strings.Contains(text, "%") {
		return strings.LastIndexByte(text, '@')
	}
	all := at.FindAllStringIndex(text, -1)
	if all == nil {
		return -1
	}
	return all[len(all)-1][0]
}
