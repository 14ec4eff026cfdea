package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// directories grants the directories that the config names. If the config has no fs, it grants those that the manifest requests.
// It always grants the plugin's state directory.
func (c *decision) directories() {
	if c.p.FS != nil {
		c.configuredDirectories()
	} else {
		c.requestedDirectories()
	}
	if c.p.ReadOnly {
		for i := range c.grant.FS {
			c.grant.FS[i].Access = manifest.Read
		}
	}
	if state := c.stateDir(); state != "" {
		c.grant.FS = append(c.grant.FS, Mount{Path: state, Access: manifest.ReadWrite, State: true})
		c.grant.KeepsState = !c.p.ReadOnly && slices.ContainsFunc(slices.Concat(c.m.Capabilities.FS, c.p.FS), func(f manifest.FS) bool {
			dir, missing := c.expand(f.Path)
			return missing == "" && c.inStateDir(dir) && f.Access == manifest.ReadWrite
		})
	}
}

// MaxDirectories bounds the directories and repositories that a plugin is granted. Each takes one descriptor, or three if it is a writable
// directory that does not exist; the host takes two more for each worker.
const MaxDirectories = 128

// CheckCount returns a problem at a key of the plugin's table p if g, what Decide and Ceiling.Narrow have granted, has more.
func CheckCount(p Plugin, g Grant) tomlfile.Problems {
	c := decision{p: p}
	if n := len(g.FS) + len(g.Git); n > MaxDirectories {
		key := "fs"
		if len(g.Git) > len(g.FS) {
			key = "git"
		}
		c.fault(key, fmt.Sprintf("grants %d directories and repositories, but a plugin can have at most %d", n, MaxDirectories), "grant a directory that contains several of them")
	}
	return c.problems
}

// configuredDirectories grants any directory that the admin names. The access is at most the highest access that the manifest
// requests for any directory.
func (c *decision) configuredDirectories() {
	highest := manifest.Access("")
	for _, f := range c.m.Capabilities.FS {
		highest = maxAccess(highest, f.Access)
	}
	for i, f := range c.p.FS {
		key := fmt.Sprintf("fs[%d]", i)
		switch {
		case highest == "":
			c.faultAt(f.Line, "fs", fmt.Sprintf("%s asks for no directory", c.m.Name), "remove it")
			return
		case f.Access == manifest.ReadWrite && highest == manifest.Read:
			c.faultAt(f.Line, key+".access", fmt.Sprintf("%s asks for no more than access = %q", c.m.Name, highest), `write access = "r"`)
			continue
		}
		dir, missing := c.expand(f.Path)
		switch {
		case missing == manifest.VarProject && c.places.Project == "":
			c.leaveOut(fmt.Sprintf("its config grants %s", f.Path), c.places.NoProject)
			continue
		case missing == manifest.VarState && c.places.NoState != "":
			c.leaveOut(fmt.Sprintf("its config grants %s", f.Path), c.places.NoState)
			continue
		case missing != "":
			c.faultAt(f.Line, key+".path", fmt.Sprintf("%s has an unset variable", tomlfile.Quote(f.Path)), "write an absolute path")
			continue
		case c.places.Broad(dir):
			c.add(tomlfile.Problem{File: c.p.File, Line: f.Line, Key: c.p.Key + "." + key + ".path", Warning: true,
				What: fmt.Sprintf("grants all of %s", dir), Remedy: "name the directories that the plugin needs"})
		}
		c.mount(dir, f.Access)
	}
}

// requestedDirectories grants the directories that the manifest requests, except broad ones. If no config
// names the plugin, it grants only directories in the project.
func (c *decision) requestedDirectories() {
	for i, f := range c.m.Capabilities.FS {
		dir, missing := c.expand(f.Path)
		why := ""
		switch {
		case missing == manifest.VarProject:
			if !f.Optional {
				c.leaveOut(fmt.Sprintf("it needs %s", f.Path), c.places.NoProject)
			}
			continue
		case missing == manifest.VarState && c.places.NoState != "":
			if !f.Optional {
				c.leaveOut(fmt.Sprintf("it needs %s", f.Path), c.places.NoState)
			}
			continue
		case missing != "":
			why = "whose variable is unset"
		case c.inStateDir(dir):
			continue // the state directory is always granted, and always writable
		case c.places.Broad(dir):
			why = "which is granted only if a config file names it"
		case !c.configured() && !contain.Within(c.places.Project, dir):
			why = "which only a config file can grant"
		}
		if why == "" {
			c.mount(dir, f.Access)
		} else if !f.Optional {
			c.warnDropped(f.Line, fmt.Sprintf("capabilities.fs[%d].path", i), fmt.Sprintf("asks for %s, %s", f.Path, why), c.fsRemedy(i))
		}
	}
}

// fsRemedy returns the remedy that grants request i of the manifest. The remedy repeats all other granted requests, because fs in a
// config replaces all of them.
func (c *decision) fsRemedy(i int) string {
	if dir, missing := c.expand(c.m.Capabilities.FS[i].Path); missing == "" && !c.places.Broad(dir) {
		return c.addRemedy()
	}
	var all []string
	for j, f := range c.m.Capabilities.FS {
		dir, missing := c.expand(f.Path)
		if j == i || !f.Optional && (missing == "" || missing == manifest.VarProject) && !c.places.Broad(dir) && !c.inStateDir(dir) {
			all = append(all, fmt.Sprintf("{ path = %q, access = %q }", f.Path, f.Access))
		}
	}
	return fmt.Sprintf("write fs = [%s] for the plugin in %s", strings.Join(all, ", "), FileName)
}

// addRemedy returns the remedy for a request that is granted as soon as any config names the plugin.
func (c *decision) addRemedy() string {
	if c.p.Source != "" {
		return fmt.Sprintf("pass --config FILE, with [[plugins]] and path = %s", tomlfile.Quote(c.p.Source))
	}
	return fmt.Sprintf("name the plugin in a config: `bulkhead add %s`", c.p.Path)
}

// isGranted reports whether dir is, or is below, a granted directory other than the state directory.
func (c *decision) isGranted(dir string) bool {
	return slices.ContainsFunc(c.grant.FS, func(m Mount) bool { return !m.State && contain.Within(m.Path, dir) })
}

// mount grants dir. A second grant of the same directory can only raise the access.
func (c *decision) mount(dir string, access manifest.Access) {
	if c.inStateDir(dir) {
		return
	}
	for i := range c.grant.FS {
		if have := &c.grant.FS[i]; have.Path == dir {
			have.Access = maxAccess(have.Access, access)
			return
		}
	}
	c.grant.FS = append(c.grant.FS, Mount{Path: dir, Access: access})
}

// expand replaces the variable in the path p. If that variable is unset, missing is its name.
func (c *decision) expand(p string) (dir, missing string) { return c.places.Resolve(p, c.m.Name) }

// stateDir returns the plugin's state directory; empty if there is none.
func (c *decision) stateDir() string { return c.places.StateDir(c.m.Name) }

func (c *decision) inStateDir(dir string) bool { return contain.Within(c.stateDir(), dir) }

// leaveOut records the reason why the plugin cannot be offered. Later calls have no effect.
func (c *decision) leaveOut(why, reason string) {
	if c.grant.LeftOut == "" {
		c.grant.LeftOut = strings.TrimSuffix(why+": "+reason, ": ")
	}
}

func (c *decision) faultAt(line int, key, what, remedy string) {
	c.add(tomlfile.Problem{File: c.p.File, Line: line, Key: c.p.Key + "." + key, What: what, Remedy: remedy})
}

func (c *decision) add(p tomlfile.Problem) { c.problems = append(c.problems, p) }

func maxAccess(a, b manifest.Access) manifest.Access {
	if a.Covers(b) {
		return a
	}
	return b
}
