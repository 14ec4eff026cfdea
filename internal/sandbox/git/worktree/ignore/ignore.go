// Package ignore decides which paths of a working tree git ignores (gitignore(5)). Start with New and Matcher.IgnoresPath. Ignore files are
// untrusted: their size, the number of patterns, and the time to match one pattern are bounded.
package ignore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

const (
	// MaxFile is the maximum size of one ignore file, in bytes.
	MaxFile = 1 << 20

	maxPattern  = 8 << 10 // most bytes of a line
	maxPatterns = 100_000 // most patterns in one operation
)

// Pattern is one line of an ignore file, or the pattern of a file of attributes.
type Pattern struct {
	negated  bool
	dirOnly  bool
	baseOnly bool    // whether the pattern matches the last component of a path; otherwise it matches the path relative to the ignore file
	literal  string  // the part of the pattern before the first wildcard
	wild     []token // the part of the pattern from the first wildcard on
}

// Level has the patterns that apply in a directory: those of the directory's ignore file, and those of the levels above, which have lower
// precedence.
type Level struct {
	up       *Level
	dir      string // directory of the ignore file: empty, or a path such as "a/b/"
	patterns []Pattern
	ignored  bool // whether the directory itself is ignored, and therefore everything below it
}

// Matcher decides which paths are ignored in one working tree. In ascending order of precedence, its levels are the user's own ignore file,
// info/exclude, and the .gitignore of each directory from the top level down.
type Matcher struct {
	ctx    context.Context
	repo   *repo.Repository
	fold   bool
	count  int // number of patterns that were read
	top    *Level
	levels map[string]*Level // levels for IgnoresPath, keyed by directory
}

// New reads the ignore files that apply to the whole working tree. If fold is set, case is ignored (core.ignoreCase). userPatterns is the
// content of the user's own ignore file.
func New(ctx context.Context, r *repo.Repository, fold bool, userPatterns []byte) (*Matcher, error) {
	m := &Matcher{ctx: ctx, repo: r, fold: fold}
	data, err := r.Root.Read(r.InCommon("info/exclude"), MaxFile)
	if err != nil && !repo.IsAbsent(err) {
		return nil, err
	}
	for i, lines := range [][]byte{userPatterns, data} {
		if m.top, err = m.addLevel(m.top, "", lines); err != nil {
			return nil, fmt.Errorf("%s: %w", []string{"the user's ignore file", "info/exclude"}[i], err)
		}
	}
	m.top, err = m.Enter(m.top, "", false)
	m.levels = map[string]*Level{"": m.top}
	return m, err
}

// Top returns the level of the working tree's top level.
func (m *Matcher) Top() *Level { return m.top }

func (m *Matcher) addLevel(up *Level, dir string, lines []byte) (*Level, error) {
	patterns, err := parse(lines, m.fold)
	if err != nil {
		return nil, err
	}
	if m.count += len(patterns); m.count > maxPatterns {
		return nil, fmt.Errorf("the ignore files have more than %d patterns", maxPatterns)
	}
	return &Level{up: up, dir: dir, patterns: patterns}, nil
}

// Enter returns the level of the directory dir, which is empty or a path such as "a/b/", below the level up. In an ignored directory, Enter
// reads no ignore file, since git cannot re-include files there. As in git, a .gitignore that is a symbolic link is not read.
func (m *Matcher) Enter(up *Level, dir string, ignored bool) (*Level, error) {
	if ignored {
		return &Level{up: up, ignored: true}, nil
	}
	name := path.Join(m.repo.Top, dir, ".gitignore")
	info, err := m.repo.Work.Handle.Lstat(name)
	if repo.IsAbsent(err) || err == nil && !info.Mode.IsRegular() {
		return up, nil
	}
	var data []byte
	if err == nil {
		data, err = m.repo.Work.Read(name, MaxFile)
	}
	if repo.IsAbsent(err) {
		return up, nil
	}
	if err != nil {
		return nil, m.repo.Work.Explain(name, err)
	}
	level, err := m.addLevel(up, dir, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.repo.Work.Abs(name), err)
	}
	return level, nil
}

// IgnoresPath reports whether a path relative to the top level is ignored. isDir states whether the path is a directory; the path need not
// exist.
func (m *Matcher) IgnoresPath(name string, isDir bool) (bool, error) {
	level := m.top
	for i, c := range name {
		if c != '/' {
			continue
		}
		dir := name[:i+1]
		next, known := m.levels[dir]
		if !known {
			ignored, err := m.Ignores(level, name[:i], true)
			if err == nil {
				next, err = m.Enter(level, dir, ignored)
			}
			if err != nil {
				return false, err
			}
			m.levels[dir] = next
		}
		level = next
	}
	if !isDir {
		file := path.Join(m.repo.Top, name)
		info, err := m.repo.Work.Handle.Lstat(file)
		if err != nil && !repo.IsAbsent(err) {
			return false, m.repo.Work.Explain(file, err)
		}
		isDir = err == nil && info.IsDir()
	}
	return m.Ignores(level, name, isDir)
}

// Ignores reports whether a path directly in the directory of level is ignored. name is relative to the top level.
func (m *Matcher) Ignores(level *Level, name string, isDir bool) (bool, error) {
	if level.ignored {
		return true, nil
	}
	base := path.Base(name)
	for ; level != nil; level = level.up {
		below, ok := strings.CutPrefix(name, level.dir)
		for i := len(level.patterns) - 1; ok && i >= 0; i-- {
			p := &level.patterns[i]
			if p.dirOnly && !isDir {
				continue
			}
			text := below
			if p.baseOnly {
				text = base
			}
			if p.matches(text, m.fold) {
				return !p.negated, nil
			}
		}
		if err := m.ctx.Err(); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (p *Pattern) matches(text string, fold bool) bool {
	if len(text) < len(p.literal) {
		return false
	}
	start, rest := text[:len(p.literal)], text[len(p.literal):]
	switch {
	case fold && !strings.EqualFold(start, p.literal), !fold && start != p.literal:
		return false
	case p.wild == nil:
		return rest == ""
	case len(p.wild) == 1 && p.wild[0].kind == tokenStar:
		return !strings.Contains(rest, "/")
	}
	// Reject the most frequent kind of pattern, *.ext, by its last byte.
	if last := p.wild[len(p.wild)-1]; last.kind == tokenByte && rest == "" {
		return false
	} else if c := text[len(text)-1]; last.kind == tokenByte && last.byte != c && (!fold || last.byte != lower(c)) {
		return false
	}
	return match(p.wild, rest, fold)
}

// parse parses the lines of an ignore file.
func parse(data []byte, fold bool) ([]Pattern, error) {
	var patterns []Pattern
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		number++
		line, ended := bytes.CutSuffix(line, []byte("\n"))
		if ended || len(line) > 0 { // the last line may have no line feed
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if len(line) > maxPattern {
			return nil, fmt.Errorf("line %d: longer than %d bytes", number, maxPattern)
		}
		if len(patterns) == maxPatterns {
			return nil, errors.New("the file has more than 100000 patterns")
		}
		// Git reads a line as a C string, so a NUL byte ends it.
		text, _, _ := strings.Cut(string(line), "\x00")
		if p, ok := ParsePattern(trimSpaces(text), fold); ok {
			patterns = append(patterns, p)
		}
	}
	return patterns, nil
}

// trimSpaces removes trailing spaces. A space that a backslash escapes is kept, with everything before it.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(s) {
				return s
			}
		}
		end = i + 1
	}
	return s[:end]
}

// MatchesFile reports whether the pattern matches a file, whose path is relative to the directory of the pattern's file.
func (p *Pattern) MatchesFile(name string, fold bool) bool {
	if p.baseOnly {
		name = path.Base(name)
	}
	return !p.dirOnly && p.matches(name, fold)
}

// ParsePattern parses one pattern. It returns false if the pattern cannot match any path.
func ParsePattern(s string, fold bool) (Pattern, bool) {
	var p Pattern
	s, p.negated = strings.CutPrefix(s, "!")
	s, p.dirOnly = strings.CutSuffix(s, "/")
	p.baseOnly = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return p, false
	}
	// As in git, the literal prefix is cut off before wildcards are parsed. In a/b**/c, the "**" is therefore at the start of the pattern.
	n := strings.IndexAny(s, `*?[\`)
	if n < 0 {
		p.literal = s
		return p, true
	}
	p.literal = s[:n]
	var ok bool
	p.wild, ok = compile(s[n:], fold)
	return p, ok
}
