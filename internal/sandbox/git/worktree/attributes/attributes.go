// Package attributes decides which attributes git gives to the files of a working tree (gitattributes(5)). Start with New and Matcher.File.
// Files of attributes are untrusted: their size and the number of lines are bounded.
package attributes

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
)

const (
	// Name is the name of the files of attributes in a working tree.
	Name = ".gitattributes"

	maxLine   = 2048    // most bytes of a line, as in git
	maxRules  = 100_000 // most lines in one operation
	maxNested = 100     // most macros that are expanded within each other
)

// State is the state of an attribute: Set, Unset or a value. The empty string is an attribute that is not specified.
type State string

// States without a value. A value cannot contain a NUL byte.
const (
	Set         State = "\x00set"
	Unset       State = "\x00unset"
	unspecified State = "\x00unspecified" // by a rule such as !text
)

// HasValue reports whether the state is a value.
func (s State) HasValue() bool { return s != "" && s[0] != 0 }

// assignment is an attribute of a rule with its state.
type assignment struct {
	name  string
	state State
}

// rule is one line of a file of attributes.
type rule struct {
	pattern ignore.Pattern
	given   []assignment
}

// level has the rules of one file.
type level struct {
	dir   string // directory of the file: empty, or a path such as "a/b/"
	rules []rule
}

// Source returns the content of a file of attributes that is absent from the working tree: that of the index. name is relative to the top
// level; nil is an absent file.
type Source func(name string) ([]byte, error)

// Matcher finds the attributes of the files of one working tree.
type Matcher struct {
	ctx    context.Context
	repo   *repo.Repository
	fold   bool
	index  Source
	count  int
	levels []level           // in ascending order of precedence: of the system, of the user
	info   level             // of info/attributes, which takes precedence over all others
	dirs   map[string]*level // levels of directories; nil if a directory has no file
	macros map[string][]assignment
}

// New reads the files of attributes that apply to the whole working tree. If fold is set, case is ignored (core.ignoreCase). system and user
// are the contents of the system's and of the user's own file.
func New(ctx context.Context, r *repo.Repository, fold bool, system, user []byte, index Source) (*Matcher, error) {
	m := &Matcher{ctx: ctx, repo: r, fold: fold, index: index, dirs: map[string]*level{},
		macros: map[string][]assignment{"binary": {{"diff", Unset}, {"merge", Unset}, {"text", Unset}}}}
	for i, data := range [][]byte{system, user} {
		l, err := m.parse("", data, true)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", []string{"the system's gitattributes", "the user's file of attributes"}[i], err)
		}
		m.levels = append(m.levels, l)
	}
	// The macros of files with higher precedence replace those of others, so that the files are parsed in their order.
	if _, err := m.dir(""); err != nil {
		return nil, err
	}
	name := r.InCommon("info/attributes")
	data, err := r.Root.Read(name, ignore.MaxFile)
	if err != nil && !repo.IsAbsent(err) {
		return nil, err
	}
	if m.info, err = m.parse("", data, true); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Root.Abs(name), err)
	}
	return m, nil
}

// dir returns the rules of the file in a directory; nil if there is none.
func (m *Matcher) dir(dir string) (*level, error) {
	if l, known := m.dirs[dir]; known {
		return l, nil
	}
	data, err := m.read(dir + Name)
	if err != nil {
		return nil, err
	}
	var found *level
	if data != nil {
		l, err := m.parse(dir, data, dir == "")
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir+Name, err)
		}
		found = &l
	}
	m.dirs[dir] = found
	return found, nil
}

// read returns the content of a file of attributes, as git reads it when files are added: that of the working tree, or else of the index.
func (m *Matcher) read(name string) ([]byte, error) {
	if err := m.ctx.Err(); err != nil {
		return nil, err
	}
	file := path.Join(m.repo.Top, name)
	info, err := m.repo.Work.Handle.Lstat(file)
	switch {
	case repo.IsAbsent(err):
		return m.index(name)
	case err != nil:
		return nil, m.repo.Work.Explain(file, err)
	case !info.Mode.IsRegular():
		return nil, fmt.Errorf("%s: is no regular file: which attributes apply is not known", m.repo.Work.Abs(file))
	}
	data, err := m.repo.Work.Read(file, ignore.MaxFile)
	return append([]byte{}, data...), err
}

// File returns the attributes of a file, by their names. The path is relative to the top level.
func (m *Matcher) File(name string) (map[string]State, error) {
	levels := slices.Clone(m.levels)
	for i, c := range "/" + name {
		if c != '/' {
			continue
		}
		l, err := m.dir(name[:i])
		if err != nil {
			return nil, err
		}
		if l != nil {
			levels = append(levels, *l)
		}
	}
	found := map[string]State{}
	for _, l := range slices.Backward(append(levels, m.info)) {
		for _, r := range slices.Backward(l.rules) {
			if r.pattern.MatchesFile(strings.TrimPrefix(name, l.dir), m.fold) {
				m.apply(found, r.given, 0)
			}
		}
	}
	for name, state := range found {
		if state == unspecified {
			delete(found, name)
		}
	}
	return found, nil
}

// apply adds the assignments of a rule, of which the last takes precedence, unless a rule with higher precedence gives the attribute.
func (m *Matcher) apply(found map[string]State, given []assignment, depth int) {
	for _, a := range slices.Backward(given) {
		if _, known := found[a.name]; known {
			continue
		}
		found[a.name] = a.state
		if a.state == Set && depth < maxNested {
			m.apply(found, m.macros[a.name], depth+1)
		}
	}
}

// parse parses the lines of a file of attributes. Macros are accepted only in files for the whole working tree.
func (m *Matcher) parse(dir string, data []byte, macros bool) (level, error) {
	l := level{dir: dir}
	number := 0
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		number++
		if len(line) > maxLine {
			return l, fmt.Errorf("line %d: longer than %d bytes", number, maxLine)
		}
		if m.count++; m.count > maxRules {
			return l, fmt.Errorf("the files of attributes have more than %d lines", maxRules)
		}
		line = strings.Trim(line, blank)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest := cutPattern(line)
		given, ok := parseAssignments(rest)
		if !ok {
			continue // git ignores a line with an invalid attribute
		}
		if macro, isMacro := strings.CutPrefix(name, "[attr]"); isMacro {
			if macro == "" { // the name is after white space
				macro, rest = cutPattern(strings.TrimLeft(rest, blank))
				given, ok = parseAssignments(rest)
			}
			if ok && macros && isName(macro) {
				m.macros[macro] = given
			}
			continue
		}
		if strings.HasPrefix(name, "!") {
			continue // git ignores negative patterns
		}
		if pattern, ok := ignore.ParsePattern(name, m.fold); ok {
			l.rules = append(l.rules, rule{pattern, given})
		}
	}
	return l, nil
}

const blank = " \t\r\n"

// cutPattern cuts a line after the pattern, which can be in quotes.
func cutPattern(line string) (pattern, rest string) {
	if line != "" && line[0] == '"' {
		if text, rest, ok := unquote(line[1:]); ok {
			return text, rest
		}
	}
	if end := strings.IndexAny(line, blank); end >= 0 {
		return line[:end], line[end:]
	}
	return line, ""
}

// unquote parses a string in the quotes of C, after the opening quote.
func unquote(text string) (value, rest string, ok bool) {
	var out []byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '"':
			return string(out), text[i+1:], true
		case c != '\\':
			out = append(out, c)
			continue
		}
		if i++; i == len(text) {
			break
		}
		if at := strings.IndexByte(`abfnrtv\"`, text[i]); at >= 0 {
			out = append(out, "\a\b\f\n\r\t\v\\\""[at])
			continue
		}
		if i+3 > len(text) || text[i] > '3' || strings.Trim(text[i:i+3], "01234567") != "" {
			break
		}
		out = append(out, (text[i]-'0')<<6|(text[i+1]-'0')<<3|(text[i+2]-'0'))
		i += 2
	}
	return "", "", false
}

// parseAssignments parses the attributes of a line. It returns false if the name of one is invalid.
func parseAssignments(text string) ([]assignment, bool) {
	var all []assignment
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(blank, c) }) {
		a := assignment{word, Set}
		switch {
		case word[0] == '-':
			a = assignment{word[1:], Unset}
		case word[0] == '!':
			a = assignment{word[1:], unspecified}
		}
		if name, value, hasValue := strings.Cut(a.name, "="); hasValue {
			a.name = name
			if a.state == Set {
				a.state = State(value)
			}
		}
		if !isName(a.name) {
			return nil, false
		}
		all = append(all, a)
	}
	return all, true
}

// isName reports whether git accepts a name of an attribute.
func isName(name string) bool {
	return name != "" && name[0] != '-' && strings.IndexFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	}) < 0
}
