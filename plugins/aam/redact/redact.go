// Package redact takes the secrets out of addresses: the user and password, the values of the query, and the
// fragment. URL is for what is known to be the address of something, Text for any text that may hold some.
//
// An address need not be a good one: what somebody has mistyped has its password all the same. Where it cannot be
// told where a password begins or ends, more is masked rather than less. A text has to be masked before it is cut:
// without the @ that ends it, nobody can tell a user and password from a name.
package redact

import (
	"regexp"
	"strings"
)

// mask stands where something was.
const mask = "***"

// blanks end a word, and the part of a URL behind its host.
const blanks = " \t\n\"'<>"

// before are characters that stand before an address, and not in its user.
const before = "/\\\"'`(<[{=,"

var (
	scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	// at and colon may be escaped, also more than once.
	at    = regexp.MustCompile(`@|%(?:25)*40`)
	colon = regexp.MustCompile(`:|%(?:25)*3[Aa]`)
	// host is what a URL may have where its host is, without a user; text goes on behind it with a mark.
	host = regexp.MustCompile(`^(?:[^:%]*|\[[0-9A-Fa-f:.%]*\])(:[0-9]*)?[.,;)\]}]*$`)
)

// Text returns the text with all addresses in it masked that are URLs or have a password.
func Text(text string) string {
	if !strings.ContainsAny(text, "@%") && !strings.Contains(text, "://") {
		return text // as most are
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = maskLine(line)
	}
	return strings.Join(lines, "\n")
}

func maskLine(line string) string {
	begins := scheme.FindAllStringIndex(line, -1)
	var out strings.Builder
	done := 0
	for i := 0; i < len(begins); i++ {
		begin, rest := begins[i][0], begins[i][1]
		end := len(line)
		for i+1 < len(begins) {
			// A scheme in the midst of a word is no other URL, but part of a password or path.
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

// maskURL masks a URL, what stands before it in its word, and the words behind it. A password may have blanks and
// quotes in it: only behind the user they end the URL.
func maskURL(front, scheme, text string) string {
	shown := front + scheme
	if user := userEnd(scheme, text, blanks); user > 0 {
		shown, text = front+scheme+mask, text[user:]
	}
	url := upTo(text, blanks)
	text = text[len(url):]
	// With a colon before it, the scheme may be one of two, as in jdbc:postgresql://, or in the midst of a password.
	if masked := maskUser(shown + url); colon.MatchString(front) && masked != shown+url {
		return masked + maskWords(text)
	}
	return shown + maskTail(url) + maskWords(text)
}

// URL returns an address without its secrets. A path is one, too, and has none unless it has a password.
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

// maskPlain masks an address without a scheme: a path, or user@host:path, as ssh has it, or host/path.
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

// userEnd returns where, behind a URL's scheme, user and password end: at the last @ that may be theirs, or, where
// the rest of them was cut off, at the end of the word, which is where one of ends is. It is 0 if there are none.
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
	// The port may be where a password begins, and the host or the scheme a user. But a scope in the path, as in
	// /@acme, is nobody's.
	return max(0, lastAt(strings.ReplaceAll(rest, "/@", "//")))
}

// isHost tells whether what stands where a host does, behind a scheme, is surely one, so that an @ behind it is one in
// a path.
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

// maskTail masks what stands behind a URL's user: a user in its path, the query's values, and the fragment.
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

// maskQuery masks the values of a query; a part without a name is a value.
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

// maskWords masks each word of a text by itself.
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

// maskUser masks a user with a password in a text that is no URL, up to the last @, and the query behind it. A user
// alone is no secret: what has an @ and no colon before it is a path, a package, or an address of mail.
func maskUser(text string) string {
	from, to := firstColon(text)
	end := lastAt(text)
	if from < 0 || end <= to {
		return text
	}
	begin := strings.LastIndexAny(text[:from], before) + 1
	return text[:begin] + mask + maskTail(text[end:])
}

// firstColon returns where the first colon begins and ends; -1 if there is none.
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

// lastAt returns where the last @ is; -1 if there is none.
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
