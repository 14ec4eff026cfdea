// Package robots decides by a site's robots.txt whether a program may fetch a page on its own (RFC 9309). Start with Allowed.
package robots

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// group has the rules for one user agent.
type group struct {
	agent string
	rules []rule
}

// rule allows or disallows the paths that match its pattern.
type rule struct {
	pattern string // normalized; * stands for any characters, and $ at its end for the end of the path
	allow   bool
}

// Allowed reports whether the content of robots.txt lets the user agent fetch the page at u. The group with the longest name in agent
// applies, else that of "*"; in a group the longest pattern that matches decides, and of two equally long ones that which allows.
func Allowed(content, agent string, u *url.URL) bool {
	var applies group
	for _, g := range parse(content) {
		if (g.agent == "*" && applies.agent == "") || (g.agent != "*" && names(agent, g.agent) && (applies.agent == "*" || len(g.agent) > len(applies.agent))) {
			applies = *g
		}
	}
	page := u.EscapedPath()
	if page == "/robots.txt" {
		return true
	}
	if u.RawQuery != "" || u.ForceQuery {
		page += "?" + u.RawQuery
	}
	page = normalize(page)
	allowed, longest := true, -1
	for _, r := range applies.rules {
		if (len(r.pattern) > longest || len(r.pattern) == longest && r.allow) && matches(r.pattern, page) {
			allowed, longest = r.allow, len(r.pattern)
		}
	}
	return allowed
}

// misspelled are the ways in which sites miswrite "disallow".
var misspelled = []string{"dissallow", "dissalow", "disalow", "diasllow", "disallaw"}

// parse returns the groups of a robots.txt. Groups of the same user agent are merged.
func parse(content string) []*group {
	var all, current []*group
	inAgents := false // whether the last line was one of user agents, which all share the rules that follow
	for line := range strings.FieldsFuncSeq(content, func(r rune) bool { return strings.ContainsRune("\n\r\v\f\u0085\u2028\u2029", r) }) {
		line, _, _ = strings.Cut(line, "#")
		key, value, found := strings.Cut(strings.TrimSpace(line), ":")
		if !found {
			key, value, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		if slices.Contains(misspelled, key) {
			key = "disallow"
		}
		switch key {
		case "": // an empty line
		case "user-agent", "useragent", "user agent":
			if !inAgents {
				current, inAgents = nil, true
			}
			if value = strings.ToLower(value); value != "*" {
				value = strings.ReplaceAll(value, "*", "")
			}
			if value == "" {
				continue
			}
			at := slices.IndexFunc(all, func(g *group) bool { return g.agent == value })
			if at < 0 {
				at, all = len(all), append(all, &group{agent: value})
			}
			current = append(current, all[at])
		case "allow", "disallow":
			inAgents = false
			if value == "" {
				continue
			}
			r := rule{normalizePattern(value), key == "allow"}
			for _, g := range current {
				g.rules = append(g.rules, r)
				if dir, index := strings.CutSuffix(r.pattern, "/index.html"); index && r.allow {
					g.rules = append(g.rules, rule{dir + "/$", true}) // the directory is the same page
				}
			}
		case "sitemap", "sitemaps", "site-map", "host": // belong to no group
		default:
			inAgents = false
		}
	}
	return all
}

// names reports whether the name of a program is in a User-Agent header, at the beginning of a word.
func names(agent, name string) bool {
	agent = strings.ToLower(agent)
	for at := 0; ; {
		found := strings.Index(agent[at:], name)
		if found < 0 {
			return false
		}
		if at += found; at == 0 || !isWord(rune(agent[at-1])) {
			return true
		}
		at++
	}
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' }

// normalizePattern normalizes a pattern. Its "*" and a "$" at its end keep their meaning.
func normalizePattern(s string) string {
	s, end := strings.CutSuffix(s, "$")
	parts := strings.Split(s, "*")
	for i, part := range parts {
		parts[i] = normalize(part)
	}
	if s = strings.Join(parts, "*"); end {
		s += "$"
	}
	return s
}

// normalize percent-encodes a path in the one way in which it can be compared.
func normalize(s string) string {
	elements := strings.Split(s, "/")
	for i, element := range elements {
		if plain, err := url.PathUnescape(element); err == nil {
			elements[i] = strings.NewReplacer("+", "%20", "%3D", "=").Replace(url.QueryEscape(plain))
		}
	}
	return strings.Join(elements, "/")
}

// matches reports whether a path matches a pattern, in time that is linear in the path for each part of the pattern.
func matches(pattern, path string) bool {
	pattern, toEnd := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	path, found := strings.CutPrefix(path, parts[0])
	if !found {
		return false
	}
	for i, part := range parts[1:] {
		if toEnd && i == len(parts)-2 {
			return strings.HasSuffix(path, part)
		}
		if _, path, found = strings.Cut(path, part); !found {
			return false
		}
	}
	return !toEnd || path == ""
}
