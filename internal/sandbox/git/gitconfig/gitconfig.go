// Package gitconfig parses one file of git's configuration (git-config(1)). Start with Parse. It follows no includes and reads no other
// file: a repository is untrusted, and an include could name any file of the machine.
package gitconfig

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

const (
	// MaxSize is the size in bytes of the largest file that callers should read for Parse.
	MaxSize    = 1 << 20
	maxEntries = 10_000 // most entries in one file
)

// Entry is one setting of a configuration file: section.subsection.key = value.
type Entry struct {
	Section, Key string // names of the section and the key in lower case
	Subsection   string
	Value        string
	NoValue      bool // whether the line has no "=", so that git reads the key as true
}

// File contains the entries of a configuration file in their order.
type File []Entry

// Last returns the effective value of a key: the last value in the file. It returns false if the key is unset.
func (f File) Last(section, subsection, key string) (string, bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if e := f[i]; e.Section == section && e.Subsection == subsection && e.Key == key {
			return e.Value, !e.NoValue
		}
	}
	return "", false
}

// All returns every value of a key. As in git, an empty value removes the values before it.
func (f File) All(section, subsection, key string) (values []string) {
	for _, e := range f {
		switch {
		case e.Section != section || e.Subsection != subsection || e.Key != key || e.NoValue:
		case e.Value == "":
			values = nil
		default:
			values = append(values, e.Value)
		}
	}
	return values
}

// Bool returns the boolean value of a key that has no subsection, or fallback if the key is unset.
func (f File) Bool(section, key string, fallback bool) bool {
	for i := len(f) - 1; i >= 0; i-- {
		e := f[i]
		if e.Section != section || e.Subsection != "" || e.Key != key {
			continue
		}
		switch strings.ToLower(e.Value) {
		case "true", "yes", "on", "1":
			return true
		case "false", "no", "off", "0":
			return false
		}
		return e.NoValue
	}
	return fallback
}

// CheckFormat returns an error if the repository has a format version or an extension that this package does not support. git's
// specification of repository formats requires that.
func (f File) CheckFormat() error {
	switch version, ok := f.Last("core", "", "repositoryformatversion"); {
	case ok && version == "1":
	case ok && version != "0":
		return fmt.Errorf("repository format version %q is not supported", hosterror.Truncate(version))
	}
	for _, e := range f {
		if e.Section != "extensions" {
			continue
		}
		value := strings.ToLower(e.Value)
		switch {
		case e.Key == "objectformat" && value == "sha256":
			return errors.New("this is a SHA-256 repository: only SHA-1 repositories are supported")
		case e.Key == "objectformat" && value == "sha1", e.Key == "refstorage" && value == "files":
		case e.Key == "noop", e.Key == "preciousobjects", e.Key == "partialclone", e.Key == "worktreeconfig",
			e.Key == "relativeworktrees":
		default:
			return fmt.Errorf("uses extensions.%s = %q, which is not supported", hosterror.Truncate(e.Key), hosterror.Truncate(e.Value))
		}
	}
	return nil
}

// Parse accepts what git accepts, except that it refuses NUL bytes.
func Parse(data []byte) (File, error) {
	p := parser{rest: strings.TrimPrefix(string(data), "\ufeff"), line: 1}
	if strings.ContainsRune(p.rest, 0) {
		return nil, errors.New("contains a NUL byte")
	}
	if err := p.file(); err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return p.entries, nil
}

type parser struct {
	rest                string
	line                int
	section, subsection string // names of the section and subsection to which the following entries belong
	entries             File
}

// next consumes one byte and returns it. At the end of the file it returns line feeds, so every construct terminates.
func (p *parser) next() byte {
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

func (p *parser) file() error {
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
			err = errors.New("the line is neither a section, a setting nor a comment")
		case len(p.entries) == maxEntries:
			err = fmt.Errorf("the file has more than %d settings", maxEntries)
		default:
			err = p.setting(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// heading parses [section], [section.sub] or [section "sub"], after the opening bracket.
func (p *parser) heading() error {
	var name strings.Builder
	c := p.next()
	for ; isKey(c) || c == '.'; c = p.next() {
		name.WriteByte(lower(c))
	}
	p.section, p.subsection, _ = strings.Cut(name.String(), ".")
	if c == ']' {
		return nil
	}
	spaced := isSpace(c)
	for ; isSpace(c); c = p.next() {
		if c == '\n' {
			return errors.New("the section has no closing bracket")
		}
	}
	if c != '"' || !spaced {
		return errors.New("the section's name is malformed")
	}
	// The rare heading [a.b "c"] means the section a with the subsection b.c.
	sub := strings.TrimPrefix(p.subsection+".", ".")
	for c = p.next(); c != '"'; c = p.next() {
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return errors.New("the subsection has no closing quote")
		}
		sub += string([]byte{c})
	}
	p.subsection = sub
	if p.next() != ']' {
		return errors.New("the section has no closing bracket")
	}
	return nil
}

// setting parses a key and its value. The first letter of the key has been consumed.
func (p *parser) setting(c byte) (err error) {
	var key strings.Builder
	for ; isKey(c); c = p.next() {
		key.WriteByte(lower(c))
	}
	e := Entry{Section: p.section, Subsection: p.subsection, Key: key.String(), NoValue: true}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	if c != '\n' {
		if c != '=' {
			return errors.New(`the key is followed by neither "=" nor the end of the line`)
		}
		e.NoValue = false
		if e.Value, err = p.value(); err != nil {
			return err
		}
	}
	p.entries = append(p.entries, e)
	return nil
}

// value parses a value, up to the end of the line. White space outside of quotes is dropped at both ends.
func (p *parser) value() (string, error) {
	var value []byte
	keep := 0 // length of value without trailing white space that is not quoted
	quoted, comment := false, false
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a quote is not closed")
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
				return "", fmt.Errorf("the escape \\%c is unknown", c)
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
