package config

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
)

// folders grants the config's folders, or else those that the manifest asks for, and always the plugin's
// own state folder.
func (c *decision) folders() {
	if c.p.FS != nil {
		c.configuredFolders()
	} else {
		c.askedFolders()
	}
	if c.p.ReadOnly {
		for i := range c.grant.FS {
			c.grant.FS[i].Access = manifest.Read
		}
	}
	if state := c.stateDir(); state != "" {
		c.grant.FS = append(c.grant.FS, Mount{Path: state, Access: manifest.ReadWrite, State: true})
	}
}

// configuredFolders grants any folder that the admin names, with no more access than the manifest asks
// for anywhere.
func (c *decision) configuredFolders() {
	highest := manifest.Access("")
	for _, f := range c.m.Capabilities.FS {
		highest = higher(highest, f.Access)
	}
	for i, f := range c.p.FS {
		key := fmt.Sprintf("fs[%d]", i)
		switch {
		case highest == "":
			c.faultAt(f.Line, "fs", fmt.Sprintf("%s asks for no folder", c.m.Name), "remove it")
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
			c.faultAt(f.Line, key+".path", fmt.Sprintf("%s has no value here", tomlfile.Quote(f.Path)), "write an absolute path")
			continue
		case c.places.Broad(dir):
			c.add(tomlfile.Problem{File: c.p.File, Line: f.Line, Key: c.p.Key + "." + key + ".path", Warning: true,
				What: fmt.Sprintf("grants %s, with everything in it", dir), Remedy: "name the folders that the plugin needs"})
		}
		c.mount(dir, f.Access)
	}
}

// askedFolders grants what the manifest asks for: all of it but the broadest where a config names the
// plugin, else only what lies in the project.
func (c *decision) askedFolders() {
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
			why = "which has no value here"
		case c.ownState(dir):
			continue // always granted, and always writable
		case c.places.Broad(dir):
			why = "which only a config file that names it can grant"
		case !c.configured() && !within(dir, c.places.Project):
			why = "which only a config file can grant"
		}
		if why == "" {
			c.mount(dir, f.Access)
		} else if !f.Optional {
			c.dropped(f.Line, fmt.Sprintf("capabilities.fs[%d].path", i), fmt.Sprintf("asks for %s, %s", f.Path, why),
				fmt.Sprintf("write fs = [{ path = %q, access = %q }] for the plugin in %s", f.Path, f.Access, FileName))
		}
	}
}

// granted tells whether dir lies in a granted folder.
func (c *decision) granted(dir string) bool {
	for _, m := range c.grant.FS {
		if !m.State && within(dir, m.Path) {
			return true
		}
	}
	return false
}

// mount grants dir; of two grants of one folder the higher counts.
func (c *decision) mount(dir string, access manifest.Access) {
	if c.ownState(dir) {
		return
	}
	for i := range c.grant.FS {
		if have := &c.grant.FS[i]; have.Path == dir {
			have.Access = higher(have.Access, access)
			return
		}
	}
	c.grant.FS = append(c.grant.FS, Mount{Path: dir, Access: access})
}

// expand replaces the variable in a path. missing is its name where it has no value.
func (c *decision) expand(p string) (dir, missing string) { return c.places.Resolve(p, c.m.Name) }

// stateDir is the plugin's own state folder, "" where there is no place for one.
func (c *decision) stateDir() string { return c.places.stateOf(c.m.Name) }

func (c *decision) ownState(dir string) bool { return within(dir, c.stateDir()) }

// leaveOut notes why the plugin cannot be offered, and the reason for that.
func (c *decision) leaveOut(why, reason string) {
	if c.grant.LeftOut == "" {
		c.grant.LeftOut = strings.TrimSuffix(why+": "+reason, ": ")
	}
}

func (c *decision) faultAt(line int, key, what, remedy string) {
	c.add(tomlfile.Problem{File: c.p.File, Line: line, Key: c.p.Key + "." + key, What: what, Remedy: remedy})
}

func (c *decision) add(p tomlfile.Problem) { c.problems = append(c.problems, p) }

// within tells whether dir is root or below it. Both are absolute and clean.
func within(dir, root string) bool {
	if root == "" {
		return false
	}
	return dir == root || root == "/" || strings.HasPrefix(dir, root+"/")
}

func higher(a, b manifest.Access) manifest.Access {
	if a == manifest.ReadWrite || b == manifest.ReadWrite {
		return manifest.ReadWrite
	}
	return manifest.Read
}
