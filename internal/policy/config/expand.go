package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Delimiters in values. ${env:NAME} is a reference to a variable of the host's environment. In the value of a variable, $${ is an
// escaped ${.
const (
	opening    = "${"
	envOpening = "${env:"
	escaped    = "$${"
)

// maxExpanded bounds the total size of all expanded values in bytes. A config can contain many references to one long variable,
// so the size of the config does not bound that total.
const maxExpanded = 16 << 20

// part is a piece of a value: either literal text, or the name of a variable.
type part struct{ text, variable string }

// hasReference reports whether path contains the start of a reference: ${env:.
func hasReference(path string) bool { return strings.Contains(path, envOpening) }

// splitValue splits the value of a variable into literals and references.
func splitValue(s string) ([]part, error) {
	var parts []part
	for {
		i := strings.Index(s, opening)
		if i < 0 {
			return append(parts, part{text: s}), nil
		}
		if i > 0 && s[i-1] == '$' {
			parts, s = append(parts, part{text: s[:i-1] + opening}), s[i+len(opening):]
			continue
		}
		name, rest, closed := strings.Cut(s[i:], "}")
		name, isEnv := strings.CutPrefix(name, envOpening)
		if !isEnv || !closed || !manifest.IsVariable(name) {
			return nil, errors.New("has a ${ that is not part of ${env:NAME}")
		}
		parts, s = append(parts, part{text: s[:i]}, part{variable: name}), rest
	}
}

// splitPath splits a path into literals and references. ${project} and other variables of paths stay part of
// the literals.
func splitPath(s string) ([]part, error) {
	if strings.Contains(s, escaped) {
		return nil, errors.New("has $${, but a path cannot contain ${")
	}
	var parts []part
	for {
		i := strings.Index(s, envOpening)
		if i < 0 {
			return append(parts, part{text: s}), nil
		}
		name, rest, closed := strings.Cut(s[i+len(envOpening):], "}")
		if !closed || !manifest.IsVariable(name) {
			return nil, errors.New("has a ${env: that is not part of ${env:NAME}")
		}
		parts, s = append(parts, part{text: s[:i]}, part{variable: name}), rest
	}
}

func checkPathReferences(s string) error {
	_, err := splitPath(s)
	return err
}

// checkPath is like manifest.CheckPath for a path that may contain references. Of a path with references it checks only the syntax:
// Expand checks the expanded path.
func checkPath(s string) error {
	if hasReference(s) {
		return checkPathReferences(s)
	}
	return manifest.CheckPath(s)
}

// checkFile returns an error if s is not an absolute path without variables.
func checkFile(s string) error {
	variable, _, err := manifest.SplitPath(s)
	if err == nil && variable != "" {
		err = errors.New("is not absolute")
	}
	return err
}

// Expand replaces ${env:NAME} in c's values and validates the resulting paths. lookup has the contract of os.LookupEnv. No
// problem contains a variable's value. The caller must use c only if Err of the problems returns nil. Expand is idempotent.
func Expand(c *Config, lookup func(string) (string, bool)) tomlfile.Problems {
	e := expander{lookup: lookup}
	if c.Audit != nil && slices.Contains(c.References, keyAuditFile) {
		e.file = c.Audit.Source
		e.path(keyAuditFile, c.Audit.Line, &c.Audit.File, checkFile)
	}
	if c.Audit != nil && slices.Contains(c.References, auditHeadersFile) {
		e.file = c.Audit.TracesAt.File
		e.path(auditHeadersFile, c.Audit.TracesAt.Line, &c.Audit.Traces.HeadersFile, checkFile)
	}
	for _, have := range c.Credentials {
		if key := credentialFile(have.Name); slices.Contains(c.References, key) {
			e.file = have.Source
			e.path(key, have.Line, &have.File, checkFile)
		}
	}
	if c.HTTP != nil {
		e.file = c.HTTP.Source
		for _, key := range c.HTTP.pathKeys() {
			if name := "http." + key.name; slices.Contains(c.References, name) {
				e.path(name, c.HTTP.Line, key.path, checkFile)
			}
		}
	}
	for i := range c.Projects {
		p := &c.Projects[i]
		if key := p.Key + ".path"; slices.Contains(c.References, key) {
			e.file = p.File
			e.path(key, p.Line, &p.Path, checkFile)
		}
		if key := p.Key + ".state"; slices.Contains(c.References, key) {
			e.file = p.File
			e.path(key, p.StateLine, &p.State, checkFile)
		}
	}
	for i := range c.Skills {
		d := &c.Skills[i]
		if slices.Contains(c.References, d.Key) {
			e.file = d.File
			e.path(d.Key, d.Line, &d.Path, checkSkillDir)
		}
	}
	c.References = nil
	for i := range c.Plugins {
		e.plugin(&c.Plugins[i])
	}
	return append(e.problems, duplicatePaths(c.Plugins)...)
}

type expander struct {
	lookup   func(string) (string, bool)
	file     string
	used     int // bytes
	problems tomlfile.Problems
}

func (e *expander) plugin(p *Plugin) {
	e.file = p.File
	line := func(key string) int { return lineOf(p.Lines, key, p.Line) }
	for _, key := range p.References {
		name := p.Key + "." + key
		switch field, rest, _ := strings.Cut(key, "."); {
		case field == "path":
			e.path(name, line(key), &p.Path, checkPluginPath)
			p.Path = absolute(p.Dir, p.Path)
		case field == "env" && strings.HasSuffix(rest, ".file"):
			variable := strings.TrimSuffix(rest, ".file")
			secret := p.Secrets[variable]
			e.path(name, line(key), &secret.File, checkFile)
			p.Secrets[variable] = secret
		case field == "env":
			e.variable(name, line(key), p.Env, rest)
		}
	}
	for i := range p.FS {
		if key := fmt.Sprintf("fs[%d].path", i); slices.Contains(p.References, key) {
			p.FS[i].Written = p.FS[i].Path
			e.path(p.Key+"."+key, p.FS[i].Line, &p.FS[i].Path, manifest.CheckPath)
		}
	}
	for i := range p.Git {
		if key := fmt.Sprintf("git[%d].repo", i); slices.Contains(p.References, key) {
			p.Git[i].Written = p.Git[i].Repo
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

// path expands *value, and validates the result with the function check.
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
		if text, _ := e.lookup(p.variable); strings.Contains(text, opening) {
			e.fault(key, line, fmt.Sprintf("the value of the variable %s contains ${, which is not allowed in a path", p.variable), "set it to a path without ${")
			return
		}
	}
	if err := check(*value); err != nil {
		e.fault(key, line, fmt.Sprintf("%s, after expansion, %v", tomlfile.Quote(written), err), "set its variables so that it is a valid path")
		return
	}
	if filepath.IsAbs(*value) {
		*value = filepath.Clean(*value)
	}
}

// join returns the expanded value of parts. ok is false if join reported a problem.
func (e *expander) join(key string, line int, parts []part) (value string, ok bool) {
	var b strings.Builder
	for _, p := range parts {
		text := p.text
		if p.variable != "" {
			var set bool
			text, set = e.lookup(p.variable)
			switch {
			case !set:
				e.fault(key, line, fmt.Sprintf("the variable %s is not set", p.variable),
					fmt.Sprintf("set it in the host's environment, or remove ${env:%s}", p.variable))
				return "", false
			case strings.ContainsRune(text, 0):
				e.fault(key, line, fmt.Sprintf("the value of the variable %s contains a NUL byte", p.variable), "")
				return "", false
			}
		}
		if e.used += len(text); e.used > maxExpanded {
			e.fault(key, line, fmt.Sprintf("is too long: after expansion the values have more than %d MiB in total", maxExpanded>>20), "")
			return "", false
		}
		b.WriteString(text)
	}
	return b.String(), true
}

func (e *expander) fault(key string, line int, what, remedy string) {
	e.problems = append(e.problems, tomlfile.Problem{File: e.file, Line: line, Key: key, What: what, Remedy: remedy})
}

const valueRemedy = "write ${env:NAME} for a variable of the host's environment, $${ for a literal ${"
