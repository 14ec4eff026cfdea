// Package redact masks the secrets in URLs: user and password, query values, and fragment. The function URL masks a
// string that is a URL, and Text masks all URLs in any string.
//
// The functions mask invalid URLs, too, because a mistyped URL also contains its password. If it is unclear where a
// password ends, they mask the longer part. Callers must mask a string before they truncate it: if the @ after a
// password is cut off, the password looks like a host.
package redact

import (
	"regexp"
	"strings"
)

// mask replaces a secret.
const mask = "***"

// blanks contains the characters that end a word. They also end the part of a URL after its host.
const blanks = " \t\n\"'<>"

// before contains the characters that may precede a URL in a word, and that do not occur in the user of a URL.
const before = "/\\\"'`(<[{=,"

var (
	scheme = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	// at and colon match the characters @ and :, which may be percent-encoded, even repeatedly.
	at    = regexp.MustCompile(`@|%(?:25)*40`)
	colon = regexp.MustCompile(`:|%(?:25)*3[Aa]`)
	// host matches the host of a URL that has no user, and the delimiter after the host.
	host = regexp.MustCompile(`^(?:[^:%]*|\[[0-9A-Fa-f:.%]*\])(:[0-9]*)?[.,;)\]}]*$`)
)

// Text returns text with the secrets in all URLs masked. It also masks the passwords in other addresses, such as
// user:password@host:path.
func Text(text string) string {
	if !strings.ContainsAny(text, "@%") && !strings.Contains(text, "://") {
		return text // most strings contain neither a URL nor an address
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = maskLine(line)
	}
	return strings.Join(lines, "\n")
}

func maskLine(line string) string {
	var begins [][]int
	if strings.Contains(line, "://") { // the regular expression takes much longer than this search
		begins = scheme.FindAllStringIndex(line, -1)
	}
	var out strings.Builder
	done := 0
	for i := 0; i < len(begins); i++ {
		begin, rest := begins[i][0], begins[i][1]
		end := len(line)
		for i+1 < len(begins) {
			// A scheme within a word is part of a password or of a path. It does not start another URL.
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

// maskURL returns a URL with its secrets masked, together with the part of the same word before the URL and the words
// after the URL. Blanks and quotes end a URL only after the user, because a password may contain them.
func maskURL(front, scheme, text string) string {
	shown := front + scheme
	if user := userEnd(scheme, text, blanks); user > 0 {
		shown, text = front+scheme+mask, text[user:]
	}
	url := upTo(text, blanks)
	text = text[len(url):]
	// A scheme after a colon may be a nested scheme, as in jdbc:postgresql://, or a part of a password.
	if masked := maskUser(shown + url); colon.MatchString(front) && masked != shown+url {
		return masked + maskWords(text)
	}
	return shown + maskTail(url) + maskWords(text)
}

// URL returns a URL or path with its secrets masked. A path contains a secret only if it contains a user with a
// password.
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

// maskPlain returns an address without a scheme, with its secrets masked. Such an address is a path, user@host:path as
// in ssh, or host/path.
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

// userEnd returns the offset after the user and password in rest, which is the string after the scheme of a URL. It
// returns 0 if rest has neither. User and password end at the last @ that can end them. If there is no such @, because
// the string was truncated, they end with the word, at the first of the characters in ends.
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
	// The string may begin with user:password although it looks like host:port. An @ that begins the scope of a package
	// in the path, as in /@acme, does not end a password.
	return max(0, lastAt(strings.ReplaceAll(rest, "/@", "//")))
}

// isHost reports whether word certainly begins with a host instead of a user. A later @ then belongs to the path.
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

// maskTail masks the secrets in rest, which is the part of a URL after its user. The secrets are a user in the path,
// the values of the query, and the fragment.
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

// maskQuery masks the values in the query of a URL. It masks a part without = completely.
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

// maskWords masks the secrets in each word of text separately.
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

// maskUser masks a user with a password, up to the last @, in a string that is not a URL. It also masks the values of a
// query after the address. It does not mask a user without a password, because an @ without a preceding colon belongs
// to a path, a package or a mail address.
func maskUser(text string) string {
	from, to := firstColon(text)
	end := lastAt(text)
	if from < 0 || end <= to {
		return text
	}
	begin := strings.LastIndexAny(text[:from], before) + 1
	return text[:begin] + mask + maskTail(text[end:])
}

// firstColon returns the start and the end of the first colon, which may be percent-encoded; -1 if text has no colon.
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

// lastAt returns the offset of the last @, which may be percent-encoded; -1 if text has no @.
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
