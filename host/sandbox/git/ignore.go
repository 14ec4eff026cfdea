package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
)

const (
	maxPattern  = 8 << 10 // bytes of a line
	maxPatterns = 100_000 // that one operation heeds
)

// pattern is one line of an ignore file (https://git-scm.com/docs/gitignore).
type pattern struct {
	negated bool
	folder  bool // matches folders only
	name    bool // matches the last part of a path, else the path from the file's folder on
	literal string
	wild    []token // what follows the literal
}

// ignoreFile is the patterns of one ignore file, for the folder that it lies in: "" or "a/b/".
type ignoreFile struct {
	folder   string
	patterns []pattern
}

// ignoreLevel is a folder, and the ignore file that it adds to those above it.
type ignoreLevel struct {
	up      *ignoreLevel
	file    ignoreFile
	ignored bool // the folder itself, and with it all that it holds
}

// ignorer answers what is ignored in one working tree. Levels are those of the user's own file, then
// info/exclude, then the .gitignore of each folder from the top level down; the last word counts.
type ignorer struct {
	ctx   context.Context
	repo  *repository
	fold  bool
	count int // of patterns
	top   *ignoreLevel
}

func (r *repository) ignorer(ctx context.Context, s settings, user []byte) (*ignorer, error) {
	g := &ignorer{ctx: ctx, repo: r, fold: s.boolean("core", "ignorecase", false)}
	data, err := r.root.read(path.Join(r.common, "info", "exclude"), maxIgnoreFile)
	if err != nil && !absent(err) {
		return nil, err
	}
	for name, lines := range []([]byte){user, data} {
		if g.top, err = g.below(g.top, "", lines); err != nil {
			return nil, fmt.Errorf("%s: %w", []string{"the user's ignore file", "info/exclude"}[name], err)
		}
	}
	g.top, err = g.enter(g.top, "", false)
	return g, err
}

func (g *ignorer) below(up *ignoreLevel, folder string, lines []byte) (*ignoreLevel, error) {
	patterns, err := parseIgnore(lines, g.fold)
	if err != nil {
		return nil, err
	}
	if g.count += len(patterns); g.count > maxPatterns {
		return nil, fmt.Errorf("over %d patterns", maxPatterns)
	}
	return &ignoreLevel{up: up, file: ignoreFile{folder, patterns}}, nil
}

// enter gives the level of a folder ("" or "a/b/") below another. Of an ignored one no file is read: nothing
// in it can be taken back. As for git, a .gitignore that is a link is none.
func (g *ignorer) enter(up *ignoreLevel, folder string, ignored bool) (*ignoreLevel, error) {
	if ignored {
		return &ignoreLevel{up: up, ignored: true}, nil
	}
	name := path.Join(g.repo.top, folder, ".gitignore")
	info, err := g.repo.root.dir.Lstat(name)
	if absent(err) || err == nil && !info.Mode.IsRegular() {
		return up, nil
	}
	var data []byte
	if err == nil {
		data, err = g.repo.root.read(name, maxIgnoreFile)
	}
	if absent(err) {
		return up, nil
	}
	if err != nil {
		return nil, g.repo.root.explain(name, err)
	}
	level, err := g.below(up, folder, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", g.repo.root.abs(name), err)
	}
	return level, nil
}

// ignored reports whether a path in the folder of a level is ignored. Names are relative to the top level.
func (g *ignorer) ignored(level *ignoreLevel, name string, folder bool) (bool, error) {
	if level.ignored {
		return true, nil
	}
	base := path.Base(name)
	for ; level != nil; level = level.up {
		below, ok := strings.CutPrefix(name, level.file.folder)
		for i := len(level.file.patterns) - 1; ok && i >= 0; i-- {
			p := &level.file.patterns[i]
			if p.folder && !folder {
				continue
			}
			text := below
			if p.name {
				text = base
			}
			if p.matches(text, g.fold) {
				return !p.negated, nil
			}
		}
		if err := g.ctx.Err(); err != nil {
			return false, err
		}
	}
	return false, nil
}

func (p *pattern) matches(text string, fold bool) bool {
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
	if last := p.wild[len(p.wild)-1]; last.kind == tokenByte && rest == "" {
		return false
	} else if c := text[len(text)-1]; last.kind == tokenByte && last.byte != c && (!fold || last.byte != lower(c)) {
		return false // the most frequent case, *.ext, without walking through it
	}
	return matchWild(p.wild, rest, fold)
}

// parseIgnore reads the lines of an ignore file.
func parseIgnore(data []byte, fold bool) ([]pattern, error) {
	var patterns []pattern
	number := 0
	for line := range bytes.Lines(bytes.TrimPrefix(data, []byte("\ufeff"))) {
		number++
		line, ended := bytes.CutSuffix(line, []byte("\n"))
		if ended || len(line) > 0 { // also the last line, which may lack its end
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if len(line) > maxPattern {
			return nil, fmt.Errorf("line %d: over %d bytes", number, maxPattern)
		}
		if len(patterns) == maxPatterns {
			return nil, errors.New("over 100000 patterns")
		}
		// Git reads a line as a C string.
		text, _, _ := strings.Cut(string(line), "\x00")
		if p, ok := parsePattern(trimSpaces(text), fold); ok {
			patterns = append(patterns, p)
		}
	}
	return patterns, nil
}

// trimSpaces takes away the spaces at the end, except one behind a backslash and those before it.
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

// parsePattern reads one pattern; false if it can match nothing.
func parsePattern(s string, fold bool) (pattern, bool) {
	var p pattern
	s, p.negated = strings.CutPrefix(s, "!")
	s, p.folder = strings.CutSuffix(s, "/")
	p.name = !strings.Contains(s, "/")
	s = strings.TrimPrefix(s, "/")
	if s == "" {
		return p, false
	}
	// The literal beginning is taken off before wildcards are read, as git does it: so in a/b**/c the
	// "**" stands at the beginning.
	n := strings.IndexAny(s, `*?[\`)
	if n < 0 {
		p.literal = s
		return p, true
	}
	p.literal = s[:n]
	var ok bool
	p.wild, ok = compileWild(s[n:], fold)
	return p, ok
}
