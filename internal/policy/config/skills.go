package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// SkillDir is an item of the key skills in [server]: a directory whose subdirectories are skills.
type SkillDir struct {
	Path   string   // as written; in ProjectSkills absolute
	Within []string // directories of which one must contain Path after its symbolic links are resolved; nil: any
	File   string   // path of the config file that has the item
	Key    string   // server.skills[1]
	Line   int
}

// ProjectSkills are the directories with the skills of a project, and what is withheld of them.
type ProjectSkills struct {
	Dirs      []SkillDir // of two skills of one name, that of the first directory is offered
	Deny      []string   // patterns of hidden files, relative to each directory
	Resources Filter     // filter of the URIs of the skills' files
}

// WithoutLines returns s without what only messages use.
func (s ProjectSkills) WithoutLines() ProjectSkills {
	s.Dirs = slices.Clone(s.Dirs)
	for i := range s.Dirs {
		s.Dirs[i].File, s.Dirs[i].Key, s.Dirs[i].Line = "", "", 0
	}
	return s
}

// Problem returns a warning about the directory.
func (d SkillDir) Problem(what, remedy string) tomlfile.Problem {
	return tomlfile.Problem{File: d.File, Line: d.Line, Key: d.Key, What: what, Remedy: remedy, Warning: true}
}

const (
	keySkills    = "skills"
	maxSkillDirs = 16
	skillsRemedy = `write an absolute path, or one that begins with ${project}, ${cwd} or ${home}: "${project}/.claude/skills"`
)

func (c *Config) readSkills(server *tomlfile.Table) {
	items := server.Distinct(keySkills, func(path string) (what, remedy string) {
		if err := checkSkillDir(path); err != nil {
			what = fmt.Sprintf("%s %v", tomlfile.Quote(path), err)
		}
		return what, skillsRemedy
	})
	if len(items) > maxSkillDirs {
		server.Fault(keySkills, fmt.Sprintf("has more than %d directories", maxSkillDirs), "remove some")
		return
	}
	for i, path := range items {
		d := SkillDir{Path: path, File: server.FileOf(keySkills), Key: fmt.Sprintf("%s[%d]", server.Path(keySkills), i), Line: server.LineOfItem(keySkills, i)}
		if hasReference(path) {
			c.References = append(c.References, d.Key)
		}
		c.Skills = append(c.Skills, d)
	}
}

// checkSkillDir is like checkPath, but refuses ${state}, which is a plugin's.
func checkSkillDir(path string) error {
	if err := checkPath(path); err != nil || hasReference(path) {
		return err
	}
	if variable, _, _ := manifest.SplitPath(path); variable == manifest.VarState {
		return errors.New("has the variable ${state}, which only plugins have")
	}
	return nil
}

// DecideSkills returns the skills of the project of places that a config with these directories and defaults offers. It is a pure function.
func DecideSkills(dirs []SkillDir, defaults Defaults, places Places) (s ProjectSkills, ps tomlfile.Problems) {
	s.Deny = defaults.Deny
	for _, d := range dirs {
		path, missing := places.Resolve(d.Path, "")
		switch {
		case missing == manifest.VarProject:
			ps = append(ps, d.Problem("the project has no skills: "+places.NoProject, "pass --project"))
			continue
		case missing != "":
			ps = append(ps, d.Problem(fmt.Sprintf("the variable ${%s} has no value", missing), "write an absolute path"))
			continue
		case places.Broad(path):
			ps = append(ps, d.Problem(fmt.Sprintf("%s is the root directory, or contains the home directory, so that no directory in it is offered as a skill", path), "name the directory that contains the skills"))
			continue
		}
		if d.Path = path; !slices.ContainsFunc(s.Dirs, func(first SkillDir) bool { return first.Path == path }) {
			s.Dirs = append(s.Dirs, d)
		}
	}
	return s, ps
}

// NarrowSkills returns the part of s that the ceiling allows. A nil ceiling allows everything.
func (c *Ceiling) NarrowSkills(s ProjectSkills, places Places) (_ ProjectSkills, ps tomlfile.Problems) {
	if c == nil {
		return s, nil
	}
	if c.NoSkills {
		for _, d := range s.Dirs {
			ps = append(ps, d.Problem(d.Path+" is not offered: "+c.All.At(keySkills)+" does not allow skills of projects", AskAdmin))
		}
		return ProjectSkills{}, ps
	}
	s, withheld := s.narrow(c.All, c.places(places))
	for _, d := range withheld {
		ps = append(ps, d.Problem(d.Path+" is not offered: it is in none of the directories of "+c.All.At("fs"), AskAdmin))
	}
	return s, ps
}

// NarrowSkills returns the part of s that the table allows. A table that names plugins allows skills of the project only if it names
// manifest.ProjectSkills too.
func (c *Client) NarrowSkills(s ProjectSkills, places Places) ProjectSkills {
	if !c.AllowsPlugin(manifest.ProjectSkills) {
		return ProjectSkills{}
	}
	b := c.Bounds
	if c.FS != nil {
		b.FS = c.directories(places.Client)
	}
	s, _ = s.narrow(b, Places{Project: places.Project, Home: places.Home})
	s.Resources = s.Resources.and(c.Resources)
	return s
}

// narrow returns the part of s that the bounds allow, and the directories that they do not. A directory of which they allow a part is withheld.
func (s ProjectSkills) narrow(b Bounds, places Places) (kept ProjectSkills, withheld []SkillDir) {
	kept = ProjectSkills{Deny: slices.Clone(s.Deny), Resources: s.Resources}
	n := narrowing{bounds: places}
	for _, d := range s.Dirs {
		if b.FS != nil {
			within, _ := n.containing(b.FS, d.Path, manifest.Read)
			if within == nil {
				withheld = append(withheld, d)
				continue
			}
			d.Within = innermost(d.Within, within)
		}
		kept.Dirs = append(kept.Dirs, d)
	}
	for _, p := range b.Deny {
		if !slices.Contains(kept.Deny, p) {
			kept.Deny = append(kept.Deny, p)
		}
	}
	return kept, withheld
}
