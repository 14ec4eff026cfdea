// Package ready decides whether a plugin has what its manifest requires beyond a grant: a variable with a value, a directory
// of the project that a program has initialized. Check compares the requirements with a grant and the file system; Create
// creates what is missing, as far as the manifest says how.
//
// A check is a few stat calls. It reads no file and follows no symbolic link out of a granted directory.
package ready

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Lack is a requirement that is not met.
type Lack struct {
	manifest.Requirement
	What   string // for example "the variable NAME (…) is not granted" or "/p/.chant/specs (…) does not exist"
	Remedy string
}

func (l Lack) String() string { return l.What + ": " + l.Remedy }

// Check returns the requirements of the plugin of m that are not met under its grant. p is the plugin's table in the config. Only
// the existence of the table matters: bulkhead init does not change an existing one, so it is no remedy then.
func Check(m *manifest.Manifest, p config.Plugin, g config.Grant, places config.Places) []Lack {
	var lacks []Lack
	c := check{m: m, configured: p.Line > 0, grant: g, places: places}
	for _, r := range m.Requires {
		r = c.decided(r)
		what, remedy := "", ""
		switch {
		case r.Optional:
		case r.Env != "":
			what, remedy = c.variable(r)
		case r.Grant != "":
			what, remedy = c.granted(r)
		default:
			what, remedy = c.paths(r)
		}
		if what != "" {
			lacks = append(lacks, Lack{r, what, remedy})
		}
	}
	return lacks
}

// IsWhole reports whether the lack disables the whole plugin, not only some of its tools.
func (l Lack) IsWhole() bool { return len(l.Tools) == 0 && len(l.Except) == 0 }

// Paths returns the absolute paths whose existence Check examines.
func Paths(m *manifest.Manifest, g config.Grant, places config.Places) []string {
	c := check{m: m, grant: g, places: places}
	var all []string
	for _, r := range m.Requires {
		for _, path := range r.Paths {
			for _, at := range c.candidates(path) {
				if c.mountOf(at) != "" {
					all = append(all, at)
				}
			}
		}
	}
	return all
}

type check struct {
	m          *manifest.Manifest
	configured bool
	grant      config.Grant
	places     config.Places
}

func (c check) variable(r manifest.Requirement) (what, remedy string) {
	if _, secret := c.grant.Secrets[r.Env]; secret || c.grant.Env[r.Env] != "" {
		return "", ""
	}
	is := "is not granted"
	if _, granted := c.grant.Env[r.Env]; granted {
		is = "is empty"
	}
	remedy = c.initialize()
	if c.configured || r.Value == "" {
		remedy = fmt.Sprintf("write env = { %s = \"%s\" } for the plugin in %s", r.Env, cmp.Or(Value(r, c.places), "…"), config.FileName)
	}
	if !c.configured && r.Value == "" {
		remedy = fmt.Sprintf("pass --env %s=VALUE, or %s", r.Env, remedy)
	}
	return fmt.Sprintf("the variable %s (%s) %s", r.Env, r.Why, is), remedy
}

func (c check) granted(r manifest.Requirement) (what, remedy string) {
	dir, missing := c.places.Resolve(r.Grant, c.m.Name)
	if missing == "" && c.mountOf(dir) != "" {
		return "", ""
	}
	return fmt.Sprintf("%s (%s) is not granted", r.Grant, r.Why), c.grantIt()
}

func (c check) grantIt() string {
	if !c.configured {
		return c.initialize()
	}
	return fmt.Sprintf("add it to fs in the plugin's table of %s", config.FileName)
}

func (c check) initialize() string { return "run `bulkhead init --plugin " + c.m.Name + "`" }

// decided reduces the requirement to the path that begins with a granted variable, if there is one: the plugin then uses only that
// path. The files that init would create are elsewhere, so they are removed from the requirement.
func (c check) decided(r manifest.Requirement) manifest.Requirement {
	for _, path := range r.Paths {
		if strings.HasPrefix(path, manifest.EnvPath) && len(c.candidates(path)) > 0 {
			r.Paths, r.Create = []string{path}, nil
			break
		}
	}
	return r
}

// paths checks that one of the paths exists in a granted directory. Otherwise the message names the first granted path.
func (c check) paths(r manifest.Requirement) (what, remedy string) {
	first := ""
	for _, path := range r.Paths {
		for _, at := range c.candidates(path) {
			mount := c.mountOf(at)
			switch {
			case mount == "":
			case exists(mount, at):
				return "", ""
			case first == "":
				first = at
			}
		}
	}
	switch {
	case first == "":
		return fmt.Sprintf("%s (%s) is not granted", r.Paths[len(r.Paths)-1], r.Why), c.grantIt()
	case len(r.Create) == 0:
		return fmt.Sprintf("%s (%s) does not exist", first, r.Why), "create it"
	}
	return fmt.Sprintf("%s (%s) does not exist", first, r.Why), c.initialize()
}

// candidates returns the absolute paths that a required path stands for. A path that begins with ${cwd} stands for several: it is
// looked for in the working directory of calls and in the parents of that directory up to the project.
func (c check) candidates(path string) []string {
	if after, ok := strings.CutPrefix(path, manifest.EnvPath); ok {
		name, rest, _ := strings.Cut(after, "}")
		if value := c.grant.Env[name]; filepath.IsAbs(value) {
			return []string{filepath.Join(value, rest)}
		}
		return nil
	}
	variable, rest, err := manifest.SplitPath(path)
	if variable != manifest.VarCwd || err != nil {
		if at, missing := c.places.Resolve(path, c.m.Name); missing == "" {
			return []string{at}
		}
		return nil
	}
	if c.places.Project == "" {
		return nil
	}
	all := []string{filepath.Join(c.places.Project, rest)}
	for dir := c.places.Cwd; contain.Below(c.places.Project, dir); dir = filepath.Dir(dir) {
		all = append(all, filepath.Join(dir, rest))
	}
	return all
}

// mountOf returns the granted directory that contains a path, "" if there is none.
func (c check) mountOf(path string) string {
	for _, m := range c.grant.FS {
		if contain.Within(m.Path, path) {
			return m.Path
		}
	}
	return ""
}

// exists reports whether a path exists in a granted directory.
func exists(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return false
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = root.Stat(rel)
	return err == nil
}
