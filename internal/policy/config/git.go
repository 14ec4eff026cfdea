package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// repositories grants the repositories that the config names and the manifest requests. If the config has no git, it grants those
// that the manifest names, read-only.
func (c *decision) repositories() {
	if c.p.Git != nil {
		c.configuredRepositories()
	} else {
		c.requestedRepositories()
	}
	if c.p.ReadOnly {
		for i := range c.grant.Git {
			c.grant.Git[i].Access = manifest.Read
		}
	}
}

func (c *decision) configuredRepositories() {
	if len(c.m.Capabilities.Git) == 0 && len(c.p.Git) > 0 {
		c.fault("git", fmt.Sprintf("%s asks for no repository", c.m.Name), "remove it")
		return
	}
	for i, g := range c.p.Git {
		fault := func(key, what, remedy string) { c.faultAt(g.Line, fmt.Sprintf("git[%d].%s", i, key), what, remedy) }
		dir, missing := c.expand(g.Repo)
		requested, found := c.requestedAt(dir)
		switch {
		case missing == manifest.VarProject && c.places.Project == "":
			c.leaveOut(fmt.Sprintf("its config grants the repository %s", g.Repo), c.places.NoProject)
			continue
		case missing != "":
			fault("repo", fmt.Sprintf("%s has an unset variable", tomlfile.Quote(g.Repo)), "write an absolute path")
			continue
		case !found:
			fault("repo", fmt.Sprintf("%s does not ask for the repository %s; it asks for %s", c.m.Name, g.Repo, c.requestedRepos()), "remove it")
			continue
		case !requested.Access.Covers(g.Access):
			fault("access", fmt.Sprintf("%s asks for no more than access = %q", c.m.Name, requested.Access),
				fmt.Sprintf("write access = %q", requested.Access))
			continue
		case c.places.Broad(dir):
			c.add(tomlfile.Problem{File: c.p.File, Line: g.Line, Key: fmt.Sprintf("%s.git[%d].repo", c.p.Key, i), Warning: true,
				What: fmt.Sprintf("grants every repository in %s", dir), Remedy: "name the repositories that the plugin needs"})
		}
		remotes := normalizeRemotes(g.Remotes)
		for _, r := range remotes {
			if !slices.Contains(requested.Remotes, r) && !slices.Contains(requested.Remotes, manifest.Any) {
				fault("remotes", fmt.Sprintf("%s does not ask for the remote %s", c.m.Name, r), "remove it")
			}
		}
		c.grantGit(Git{Repo: dir, Access: g.Access, Remotes: remotes})
	}
}

// requestedAt returns the union of the manifest's requests that cover a repository at dir. found reports whether there is such a
// request. A request covers the directory that it names and everything below that directory. A request for any repository covers
// all directories.
func (c *decision) requestedAt(dir string) (requested Git, found bool) {
	requested.Access = manifest.Read
	for _, g := range c.m.Capabilities.Git {
		if g.Repo != manifest.Any {
			if at, missing := c.expand(g.Repo); missing != "" || !contain.Within(at, dir) {
				continue
			}
		}
		requested.Access, found = maxAccess(requested.Access, g.Access), true
		requested.Remotes = append(requested.Remotes, normalizeRemotes(g.Remotes)...)
	}
	return requested, found
}

func (c *decision) requestedRepos() string {
	var names []string
	for _, g := range c.m.Capabilities.Git {
		names = append(names, g.Repo)
	}
	return strings.Join(names, ", ")
}

// requestedRepositories grants the repositories that the manifest names, read-only. If the config has fs, a repository must lie in
// one of the directories of fs, because an admin who withholds a directory withholds its history too. Without a config no admin has
// reviewed the requests, so only the project's repository is granted, without remotes.
func (c *decision) requestedRepositories() {
	for i, g := range c.m.Capabilities.Git {
		drop := func(key, why, remedy string) {
			c.warnDropped(g.Line, fmt.Sprintf("capabilities.git[%d].%s", i, key), why, remedy)
		}
		if g.Repo == manifest.Any {
			drop("repo", "asks for any repository, but is granted only those that a config file names", c.gitRemedy("/path/to/it", i))
			continue
		}
		dir, missing := c.expand(g.Repo)
		switch {
		case missing == manifest.VarProject:
			c.leaveOut(fmt.Sprintf("it needs the repository %s", g.Repo), c.places.NoProject)
		case missing != "":
			drop("repo", fmt.Sprintf("asks for the repository %s, whose variable is unset", g.Repo), "")
		case !c.configured() && !contain.Within(c.places.Project, dir):
			drop("repo", fmt.Sprintf("asks for the repository %s, which only a config file can grant", g.Repo), c.addRemedy())
		case c.p.FS != nil && !c.isGranted(dir):
			drop("repo", fmt.Sprintf("asks for the repository %s, which lies in none of the granted directories", g.Repo),
				fmt.Sprintf("add { path = %q, access = \"r\" } to fs%s", g.Repo, c.at("fs")))
		default:
			if g.Access != manifest.Read && !c.p.ReadOnly {
				drop("access", fmt.Sprintf("asks for write access, which only access = %q in a config file grants", g.Access), c.gitRemedy(g.Repo, i))
			}
			c.grantGit(Git{Repo: dir, Access: manifest.Read, Remotes: c.namedRemotes(i, drop)})
		}
	}
}

// namedRemotes returns the remotes that the manifest names. Without a config it returns none.
func (c *decision) namedRemotes(i int, drop func(key, why, remedy string)) []string {
	var named []string
	g := c.m.Capabilities.Git[i]
	for _, r := range normalizeRemotes(g.Remotes) {
		if r == manifest.Any {
			drop("remotes", "asks for any remote, but is granted only those that a config file names", c.gitRemedy(g.Repo, i))
			continue
		}
		named = append(named, r)
	}
	if len(named) > 0 && !c.configured() {
		drop("remotes", fmt.Sprintf("asks for %s, which only a config file can grant", strings.Join(named, ", ")), c.addRemedy())
		return nil
	}
	return named
}

// gitRemedy returns the remedy that grants everything that request i of the manifest asks for at repo. The remedy repeats the other
// repositories that the manifest names, because git in a config replaces all of them.
func (c *decision) gitRemedy(repo string, i int) string {
	var all []string
	for j, g := range c.m.Capabilities.Git {
		more := ""
		switch {
		case j == i:
			g.Repo = repo
			if len(g.Remotes) > 0 {
				more = `, remotes = ["https://…"]`
			}
		case g.Repo == manifest.Any || g.Repo == repo:
			continue
		default:
			g.Access = manifest.Read
		}
		all = append(all, fmt.Sprintf("{ repo = %q, access = %q%s }", g.Repo, g.Access, more))
	}
	return fmt.Sprintf("write git = [%s] for the plugin in %s", strings.Join(all, ", "), FileName)
}

// normalizeRemotes normalizes remotes and removes duplicates. It skips invalid remotes, which parsing reports.
func normalizeRemotes(remotes []string) []string {
	var out []string
	for _, r := range remotes {
		if r != manifest.Any {
			u, err := manifest.NormalizeRemote(r)
			if err != nil {
				continue
			}
			r = u
		}
		if !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// grantGit grants g. Two grants of the same directory are merged into their union.
func (c *decision) grantGit(g Git) {
	for i := range c.grant.Git {
		have := &c.grant.Git[i]
		if have.Repo != g.Repo {
			continue
		}
		have.Access = maxAccess(have.Access, g.Access)
		for _, r := range g.Remotes {
			if !slices.Contains(have.Remotes, r) {
				have.Remotes = append(have.Remotes, r)
			}
		}
		return
	}
	c.grant.Git = append(c.grant.Git, g)
}
