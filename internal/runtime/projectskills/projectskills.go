// Package projectskills reads the skills of a project: the directories in those that the key skills in [server] names. Start with Source.List.
//
// They are part of the project, so they are untrusted in each way: a directory is opened by the rules of granted directories, a skill
// is read below it without following symbolic links and within bounds, and a malformed one harms no other. Nothing is kept between two calls.
package projectskills

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/grant"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
)

// Bounds of the list of a project's skills. Those of one skill are in package skills.
const (
	maxSkills   = 64
	maxSize     = 2 * skills.MaxSize // bytes of all files
	maxProblems = 64
)

// Source is where the skills of a project are.
type Source struct {
	config.ProjectSkills
	places   config.Places
	own      []string // the host's own files and directories
	writable []string
}

// Of returns where the skills of the project of c are. writable are the directories that plugins may write, as grant.Writable returns them.
func Of(c *catalog.Catalog, writable []string) Source {
	granted, _ := c.ProjectSkills()
	return Source{granted, c.Places, c.HostFiles, writable}
}

// of is Of for a Catalog that is not served, or not yet.
func of(c *catalog.Catalog) Source {
	var grants []config.Grant
	for _, p := range c.Plugins {
		grants = append(grants, p.Grant)
	}
	return Of(c, grant.Writable(c.Places, grants...))
}

// Look returns the names of the skills of the project of c that its clients get, and the problems of others, without serving anything.
func Look(c *catalog.Catalog) ([]string, tomlfile.Problems) {
	list, problems := of(c).List(context.Background())
	names := []string{}
	for _, s := range list {
		if Allowed(c, s) {
			names = append(names, s.Name)
		}
	}
	_, decided := c.ProjectSkills()
	return names, append(slices.Clip(decided), problems...)
}

// Allowed reports whether no filter of c withholds a file of a skill of the project.
func Allowed(c *catalog.Catalog, s *skills.Skill) bool {
	offered := catalog.ProjectSkill(s.Name)
	return !slices.ContainsFunc(s.Files, func(f skills.File) bool { return !c.AllowsSkillFile(offered, f.Path) })
}

// directory is an open directory of skills.
type directory struct {
	skills.Collection
	config.SkillDir
	file   *os.File
	path   string // resolved
	hidden func(path string) bool
}

// open opens a directory of skills; nil if it does not exist. The caller must close its file.
func (s Source) open(d config.SkillDir) (*directory, error) {
	file, path, err := grant.Open(d.Path, s.places, s.writable, d.Within)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	opened := &directory{SkillDir: d, file: file, path: path}
	if opened.hidden, err = (sandbox.Hidden{Patterns: s.Deny, Own: s.own}).In(path); err == nil {
		opened.Collection, err = skills.In(file)
	}
	if err != nil {
		_ = file.Close() // it was not used
		return nil, err
	}
	return opened, nil
}

// openSkill opens a skill of the directory.
func (d *directory) openSkill(name string) (*skills.Dir, error) {
	dir, err := d.Open(name)
	if err == nil {
		dir.Hidden = func(path string) bool { return d.hidden(name + "/" + path) }
	}
	return dir, err
}

// Open opens the skill with a name: that of the first directory that has one, even if it cannot be read. A directory without SKILL.md is none.
// The caller must close the skill. If there is none, the result is nil. Errors do not contain the path of a directory.
func (s Source) Open(name string) (*skills.Dir, error) {
	for _, d := range s.Dirs {
		dir, err := s.open(d)
		if err != nil || dir == nil {
			continue // List reports it
		}
		opened, err := dir.find(name)
		_ = dir.file.Close() // it was only read
		if opened != nil || err != nil {
			return opened, err
		}
	}
	return nil, nil
}

// find opens the skill with a name, nil if there is none.
func (d *directory) find(name string) (*skills.Dir, error) {
	if d.hidden(name) || !d.Has(name) {
		return nil, nil
	}
	dir, err := d.openSkill(name)
	if err == nil && !dir.HasInstructions() {
		dir.Close()
		return nil, nil
	}
	return dir, err
}

// List reads all skills that can be read, sorted by the order of the directories and by name. The problems are why others are left out. If ctx
// ends, the results are incomplete.
func (s Source) List(ctx context.Context) ([]*skills.Skill, tomlfile.Problems) {
	l := list{ctx: ctx, seen: map[string]config.SkillDir{}}
	for _, d := range s.Dirs {
		if ctx.Err() != nil {
			break
		}
		dir, err := s.open(d)
		switch {
		case err != nil:
			l.report(d.Problem(err.Error(), "correct the path, or remove it"))
		case dir == nil:
			l.report(d.Problem("there is no directory "+d.Path, "create it, or remove the path"))
		default:
			l.add(dir)
			_ = dir.file.Close() // it was only read
		}
	}
	if l.left > 0 {
		l.problems = append(l.problems, s.Dirs[0].Problem(fmt.Sprintf("%d more problems of skills are not shown", l.left), "correct those that are"))
	}
	return l.skills, l.problems
}

// list is the state of one call of List.
type list struct {
	ctx      context.Context
	skills   []*skills.Skill
	problems tomlfile.Problems
	left     int                        // number of problems beyond maxProblems
	read     int                        // number of skills that were read, whether or not they can be offered
	size     int64                      // bytes of their files
	seen     map[string]config.SkillDir // the directory of each name
}

func (l *list) report(p tomlfile.Problem) {
	if len(l.problems) == maxProblems {
		l.left++
		return
	}
	l.problems = append(l.problems, p)
}

func (l *list) add(d *directory) {
	names, links, err := d.Names()
	if err != nil {
		l.report(d.Problem(fmt.Sprintf("%s cannot be read: %v", d.Path, usage.Cause(err)), "correct the directory, or remove the path"))
		return
	}
	for _, name := range slices.DeleteFunc(links, d.hidden) {
		l.report(d.Problem(fmt.Sprintf("%s in %s is a symbolic link, which is not followed", visible.Name(name), d.Path), "replace it by the directory, or name the directory that contains its target in skills"))
	}
	for _, name := range slices.DeleteFunc(names, d.hidden) {
		if !manifest.IsSkillName(name) {
			l.report(d.Problem(fmt.Sprintf("%s in %s is not a valid name of a skill", visible.Name(name), d.Path), "use at most 64 of a to z, 0 to 9 and single hyphens between them"))
			continue
		}
		l.addSkill(d, name)
	}
}

func (l *list) addSkill(d *directory, name string) {
	problem := tomlfile.Problem{File: filepath.Join(d.Path, name), Warning: true}
	first, known := l.seen[name]
	switch {
	case known:
		problem.What, problem.Remedy = "the skill is not offered, since "+first.Path+", which the config names first, has one of this name", "rename or remove one of them"
	case l.read == maxSkills:
		problem.What, problem.Remedy = fmt.Sprintf("the skill is not listed, since the project has %d before it", maxSkills), "remove some, or combine them"
	case l.size >= maxSize:
		problem.What, problem.Remedy = fmt.Sprintf("the skill is not listed, since the files of those before it have %d MiB", maxSize>>20), "remove large files"
	default:
		skill, size, err := d.load(l.ctx, name)
		if !errors.Is(err, skills.ErrNoInstructions) {
			l.seen[name] = d.SkillDir
			l.read++
		}
		if l.size += size; err == nil {
			l.skills = append(l.skills, skill)
			return
		}
		problem.What, problem.Remedy = "the skill is not offered: "+err.Error(), "correct it, or remove the directory"
	}
	l.report(problem)
}

// load reads a skill, and returns the number of bytes that were read for it.
func (d *directory) load(ctx context.Context, name string) (*skills.Skill, int64, error) {
	dir, err := d.openSkill(name)
	if err != nil {
		return nil, 0, err
	}
	defer dir.Close()
	skill, err := dir.Load(ctx)
	return skill, dir.Size(), err
}
