package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// The marks in a value: a reference to a variable of the host's environment, and what stands for a plain
// "${" in a variable's value.
const (
	open    = "${"
	openEnv = "${env:"
	escaped = "$${"
)

// maxExpanded bounds all values together once they are expanded, in bytes: a short reference can stand
// for a long value, and there can be many.
const maxExpanded = 16 << 20

// part is a piece of a value: text as it stands, or the name of a variable.
type part struct{ text, variable string }

// refers tells whether a value has to go through Expand.
func refers(value string) bool { return strings.Contains(value, openEnv) }

// splitValue takes the value of a variable apart.
func splitValue(s string) ([]part, error) {
	var parts []part
	for {
		i := strings.Index(s, open)
		if i < 0 {
			return append(parts, part{text: s}), nil
		}
		if i > 0 && s[i-1] == '$' {
			parts, s = append(parts, part{text: s[:i-1] + open}), s[i+len(open):]
			continue
		}
		name, rest, closed := strings.Cut(s[i:], "}")
		name, isEnv := strings.CutPrefix(name, openEnv)
		if !isEnv || !closed || !manifest.IsVariable(name) {
			return nil, errors.New("has a ${ that does not begin ${env:NAME}")
		}
		parts, s = append(parts, part{text: s[:i]}, part{variable: name}), rest
	}
}

// splitPath takes a path apart, in which ${project} and its like stand for themselves here.
func splitPath(s string) ([]part, error) {
	if strings.Contains(s, escaped) {
		return nil, errors.New("has $${, but a path cannot hold ${")
	}
	var parts []part
	for {
		i := strings.Index(s, openEnv)
		if i < 0 {
			return append(parts, part{text: s}), nil
		}
		name, rest, closed := strings.Cut(s[i+len(openEnv):], "}")
		if !closed || !manifest.IsVariable(name) {
			return nil, errors.New("has a ${env: that does not begin ${env:NAME}")
		}
		parts, s = append(parts, part{text: s[:i]}, part{variable: name}), rest
	}
}

func checkPathReferences(s string) error {
	_, err := splitPath(s)
	return err
}

// checkPath is manifest.CheckPath for a path that may hold references, of which only the form is checked:
// Expand checks the rest.
func checkPath(s string) error {
	if refers(s) {
		return checkPathReferences(s)
	}
	return manifest.CheckPath(s)
}

// checkFile tells why s is not a plain absolute path.
func checkFile(s string) error {
	variable, _, err := manifest.SplitPath(s)
	if err == nil && variable != "" {
		err = errors.New("is not absolute")
	}
	return err
}

// Expand puts the values of environment variables in the place of ${env:NAME} in c's values, and checks
// the paths that come of it. lookup is like os.LookupEnv. No message has a variable's value. c is to be
// used only where the problems' Err is nil; a second Expand changes nothing.
func Expand(c *Config, lookup func(string) (string, bool)) tomlfile.Problems {
	e := expander{lookup: lookup, file: c.File}
	if c.Audit != nil && slices.Contains(c.References, keyAuditFile) {
		e.path(keyAuditFile, c.Audit.Line, &c.Audit.File, checkFile)
	}
	for _, have := range c.Credentials {
		if key := credentialFile(have.Name); slices.Contains(c.References, key) {
			e.path(key, have.Line, &have.File, checkFile)
		}
	}
	c.References = nil
	for i := range c.Plugins {
		e.plugin(&c.Plugins[i], filepath.Dir(c.File))
	}
	return append(e.problems, sameFolder(c.Plugins)...)
}

type expander struct {
	lookup   func(string) (string, bool)
	file     string
	used     int // bytes
	problems tomlfile.Problems
}

func (e *expander) plugin(p *Plugin, dir string) {
	e.file = p.File
	line := func(key string) int { return lineOf(p.Lines, key, p.Line) }
	for _, key := range p.References {
		name := p.Key + "." + key
		switch field, rest, _ := strings.Cut(key, "."); {
		case field == "path":
			e.path(name, line(key), &p.Path, checkFolder)
			p.Path = absolute(dir, p.Path)
		case field == "env":
			e.variable(name, line(key), p.Env, rest)
		}
	}
	for i := range p.FS {
		if key := fmt.Sprintf("fs[%d].path", i); slices.Contains(p.References, key) {
			e.path(p.Key+"."+key, p.FS[i].Line, &p.FS[i].Path, manifest.CheckPath)
		}
	}
	for i := range p.Git {
		if key := fmt.Sprintf("git[%d].repo", i); slices.Contains(p.References, key) {
			e.path(p.Key+"."+key, p.Git[i].Line, &p.Git[i].Repo, manifest.CheckPath)
		}
	}
	p.References = nil
}

func (e *expander) variable(key string, line int, env map[string]string, name string) {
	parts, err := splitValue(env[name])
	if err != nil {
		e.fault(key, line, err.Error(), valueRemedy)
		return
	}
	if value, ok := e.join(key, line, parts); ok {
		env[name] = value
	}
}

// path expands *value and checks what comes of it.
func (e *expander) path(key string, line int, value *string, check func(string) error) {
	written := *value
	parts, err := splitPath(written)
	if err != nil {
		e.fault(key, line, fmt.Sprintf("%s %v", tomlfile.Quote(written), err), "")
		return
	}
	var ok bool
	if *value, ok = e.join(key, line, parts); !ok {
		return
	}
	for _, p := range parts {
		if p.variable == "" {
			continue
		}
		if text, _ := e.lookup(p.variable); strings.Contains(text, open) {
			e.fault(key, line, fmt.Sprintf("the value of the variable %s has ${, which a path cannot hold", p.variable), "set it to a plain path")
			return
		}
	}
	if err := check(*value); err != nil {
		e.fault(key, line, fmt.Sprintf("%s, with its variables in place, %v", tomlfile.Quote(written), err), "set them so that it is a path")
		return
	}
	if strings.HasPrefix(*value, "/") {
		*value = filepath.Clean(*value)
	}
}

// join is the value that parts stand for, and whether there is one.
func (e *expander) join(key string, line int, parts []part) (string, bool) {
	var b strings.Builder
	for _, p := range parts {
		text := p.text
		if p.variable != "" {
			value, ok := e.lookup(p.variable)
			switch {
			case !ok:
				e.fault(key, line, fmt.Sprintf("the variable %s is not set", p.variable),
					fmt.Sprintf("set it where the host is started, or take ${env:%s} out", p.variable))
				return "", false
			case strings.ContainsRune(value, 0):
				e.fault(key, line, fmt.Sprintf("the value of the variable %s holds a NUL byte", p.variable), "")
				return "", false
			}
			text = value
		}
		if e.used += len(text); e.used > maxExpanded {
			e.fault(key, line, fmt.Sprintf("is too long: with all variables in place the values have more than %d MiB", maxExpanded>>20), "")
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

func (e *expander) fault(key string, line int, what, remedy string) {
	e.problems = append(e.problems, tomlfile.Problem{File: e.file, Line: line, Key: key, What: what, Remedy: remedy})
}

const valueRemedy = "write ${env:NAME} for a variable of the host's environment, $${ for a plain ${"
