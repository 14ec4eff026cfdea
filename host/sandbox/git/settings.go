package git

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

const (
	maxSettings = 1 << 20 // bytes of a configuration file
	maxEntries  = 10_000  // settings in it
)

// setting is one line of a configuration file: section.subsection.key = value.
type setting struct {
	section, key string // in lower case
	sub          string
	value        string
	bare         bool // without "=", which git takes for true
}

// settings are a configuration file's, in its order. Includes are not followed and no other file is
// read, so they are what this file says and nothing else.
type settings []setting

// settings reads the repository's own configuration; an absent file is an empty one.
func (r *repository) settings() (settings, error) {
	name := path.Join(r.common, "config")
	data, err := r.root.read(name, maxSettings)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s, err := parseSettings(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.root.abs(name), err)
	}
	return s, nil
}

// last gives the value that counts of those that a key has; false if it has none.
func (s settings) last(section, sub, key string) (string, bool) {
	for i := len(s) - 1; i >= 0; i-- {
		if e := s[i]; e.section == section && e.sub == sub && e.key == key {
			return e.value, !e.bare
		}
	}
	return "", false
}

// all gives every value of a key. An empty one takes back those before it, as git has it for lists.
func (s settings) all(section, sub, key string) (values []string) {
	for _, e := range s {
		switch {
		case e.section != section || e.sub != sub || e.key != key || e.bare:
		case e.value == "":
			values = nil
		default:
			values = append(values, e.value)
		}
	}
	return values
}

// boolean gives a key's truth, or what it is without one.
func (s settings) boolean(section, key string, otherwise bool) bool {
	for i := len(s) - 1; i >= 0; i-- {
		e := s[i]
		if e.section != section || e.sub != "" || e.key != key {
			continue
		}
		switch strings.ToLower(e.value) {
		case "true", "yes", "on", "1":
			return true
		case "false", "no", "off", "0":
			return false
		}
		return e.bare
	}
	return otherwise
}

// checkFormat refuses a repository whose configuration says that it is not of the kind that is read
// here. Git demands the same of every program: what it does not know it must not touch.
func (s settings) checkFormat() error {
	switch version, ok := s.last("core", "", "repositoryformatversion"); {
	case ok && version == "1":
	case ok && version != "0":
		return fmt.Errorf("its format is of version %q, which is not supported", shorten(version))
	}
	for _, e := range s {
		if e.section != "extensions" {
			continue
		}
		value := strings.ToLower(e.value)
		switch {
		case e.key == "objectformat" && value == "sha256":
			return errors.New("a SHA-256 repository; only SHA-1 repositories are supported")
		case e.key == "objectformat" && value == "sha1", e.key == "refstorage" && value == "files":
		case e.key == "noop", e.key == "preciousobjects", e.key == "partialclone", e.key == "worktreeconfig",
			e.key == "relativeworktrees":
		default:
			return fmt.Errorf("uses extensions.%s = %q, which is not supported", shorten(e.key), shorten(e.value))
		}
	}
	return nil
}

// parseSettings reads the format of git-config(1). It takes what git takes, except a NUL byte.
func parseSettings(data []byte) (settings, error) {
	p := settingsParser{rest: strings.TrimPrefix(string(data), "\ufeff"), line: 1}
	if strings.ContainsRune(p.rest, 0) {
		return nil, errors.New("holds a NUL byte")
	}
	if err := p.file(); err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return p.all, nil
}

type settingsParser struct {
	rest         string
	line         int
	section, sub string
	all          settings
}

// next takes one character; the end of the file is an endless run of line ends.
func (p *settingsParser) next() byte {
	if p.rest == "" {
		return '\n'
	}
	if strings.HasPrefix(p.rest, "\r\n") {
		p.rest = p.rest[1:]
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\n' && p.rest != "" {
		p.line++
	}
	return c
}

func (p *settingsParser) file() error {
	comment := false
	for p.rest != "" {
		c := p.next()
		var err error
		switch {
		case c == '\n':
			comment = false
		case comment || isSpace(c):
		case c == '#' || c == ';':
			comment = true
		case c == '[':
			err = p.heading()
		case !isLetter(c):
			err = errors.New("neither a section, a setting nor a comment")
		case len(p.all) == maxEntries:
			err = fmt.Errorf("over %d settings", maxEntries)
		default:
			err = p.setting(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heading reads what follows the bracket of [section], [section.sub] or [section "sub"].
func (p *settingsParser) heading() error {
	var name strings.Builder
	c := p.next()
	for ; isKey(c) || c == '.'; c = p.next() {
		name.WriteByte(lower(c))
	}
	p.section, p.sub, _ = strings.Cut(name.String(), ".")
	if c == ']' {
		return nil
	}
	spaced := isSpace(c)
	for ; isSpace(c); c = p.next() {
		if c == '\n' {
			return errors.New("a section without its closing bracket")
		}
	}
	if c != '"' || !spaced {
		return errors.New("a section whose name is of none of the forms")
	}
	// The rare [a.b "c"] is the subsection b.c.
	sub := strings.TrimPrefix(p.sub+".", ".")
	for c = p.next(); c != '"'; c = p.next() {
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return errors.New("a subsection without its closing quote")
		}
		sub += string([]byte{c})
	}
	p.sub = sub
	if p.next() != ']' {
		return errors.New("a section without its closing bracket")
	}
	return nil
}

// setting reads a key, whose first letter was taken, and its value.
func (p *settingsParser) setting(c byte) (err error) {
	var key strings.Builder
	for ; isKey(c); c = p.next() {
		key.WriteByte(lower(c))
	}
	e := setting{section: p.section, sub: p.sub, key: key.String(), bare: true}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	if c != '\n' {
		if c != '=' {
			return errors.New(`a key with neither "=" nor a line end behind it`)
		}
		e.bare = false
		if e.value, err = p.value(); err != nil {
			return err
		}
	}
	p.all = append(p.all, e)
	return nil
}

// value reads up to the line's end. White space at both ends falls away unless it is quoted.
func (p *settingsParser) value() (string, error) {
	var value []byte
	keep := 0 // of value: what follows is white space that may be at its end
	quoted, comment := false, false
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a quote that does not end on its line")
		case c == '\n':
			return string(value[:keep]), nil
		case comment:
			continue
		case isSpace(c) && !quoted:
			if len(value) > 0 {
				value = append(value, c)
			}
			continue
		case !quoted && (c == ';' || c == '#'):
			comment = true
			continue
		case c == '"':
			quoted = !quoted
			keep = len(value)
			continue
		case c == '\\':
			keep = len(value)
			if c = p.next(); c == '\n' {
				continue
			}
			at := strings.IndexByte(`tbn\"`, c)
			if at < 0 {
				return "", fmt.Errorf("the escape \\%c, which does not exist", c)
			}
			c = "\t\b\n\\\""[at]
		}
		value = append(value, c)
		keep = len(value)
	}
}

func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isLetter(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }
func isKey(c byte) bool    { return isLetter(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
