package review

import (
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/internal/origin"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// names reports names that came and went. To have asked for any covers no name: what is asked for by name
// can be granted without an admin's naming it.
func (c *comparing) names(key, what string, old, new []string) {
	for _, name := range new {
		switch {
		case slices.Contains(old, name):
		case name == manifest.Any:
			c.add(key, true, "asks for any %s that you name", strings.TrimPrefix(what, "the "))
		default:
			c.add(key, true, "asks for %s %s", what, name)
		}
	}
	for _, name := range old {
		switch {
		case slices.Contains(new, name):
		case name == manifest.Any:
			c.add(key, false, "no longer asks for any %s that you name", strings.TrimPrefix(what, "the "))
		default:
			c.add(key, false, "no longer asks for %s %s", what, name)
		}
	}
}

// comparedOrigins are origins in the one form in which they can be compared.
func comparedOrigins(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = text
		if o, err := origin.Parse(text); err == nil {
			out[i] = o.String()
		}
	}
	return out
}

func (c *comparing) folders() {
	const key = "capabilities.fs"
	old, new := foldersOnce(c.old.Capabilities.FS), foldersOnce(c.new.Capabilities.FS)
	for _, f := range new {
		was, found := sameFolder(old, f.Path)
		switch {
		case !found:
			c.add(key, !coveredFolder(old, f), "asks to %s%s", folderWords(f.Access), f.Path)
		case f.Access != was.Access:
			c.add(key, !coveredFolder(old, f), "asks to %s%s, and asked to %s", folderWords(f.Access), f.Path, strings.TrimSuffix(folderWords(was.Access), " everything in "))
		case f.Optional != was.Optional && f.Optional:
			c.add(key, false, "can do without %s", f.Path)
		case f.Optional != was.Optional:
			c.add(key, false, "can no longer do without %s", f.Path)
		}
		if found && f.Why != was.Why {
			c.text(key, "why it wants "+f.Path, was.Why, f.Why, false)
		}
	}
	for _, f := range old {
		if _, found := sameFolder(new, f.Path); !found {
			c.add(key, false, "no longer asks to %s%s", folderWords(f.Access), f.Path)
		}
	}
}

// foldersOnce has each folder once: one that is asked for twice is asked for with the higher access.
func foldersOnce(list []manifest.FS) []manifest.FS {
	var once []manifest.FS
	for _, f := range list {
		i := slices.IndexFunc(once, func(have manifest.FS) bool { return samePath(have.Path, f.Path) })
		if i < 0 {
			once = append(once, f)
			continue
		}
		once[i].Optional = once[i].Optional && f.Optional
		if f.Access == manifest.ReadWrite {
			once[i].Access = f.Access
		}
	}
	return once
}

func samePath(a, b string) bool { return a == b || inside(a, b) && inside(b, a) }

func sameFolder(list []manifest.FS, path string) (manifest.FS, bool) {
	i := slices.IndexFunc(list, func(f manifest.FS) bool { return samePath(f.Path, path) })
	if i < 0 {
		return manifest.FS{}, false
	}
	return list[i], true
}

// coveredFolder reports whether old asks for no less than f.
func coveredFolder(old []manifest.FS, f manifest.FS) bool {
	return slices.ContainsFunc(old, func(o manifest.FS) bool { return covers(o.Access, f.Access) && inside(o.Path, f.Path) })
}

func covers(old, new manifest.Access) bool { return old == manifest.ReadWrite || new == manifest.Read }

// inside reports whether a path of a manifest's is dir, or lies in it wherever their variable stands for.
func inside(dir, path string) bool {
	variable, rest, err := manifest.SplitPath(dir)
	other, below, err2 := manifest.SplitPath(path)
	return err == nil && err2 == nil && variable == other && (below == rest || rest == "/" || strings.HasPrefix(below, rest+"/"))
}

func (c *comparing) repositories() {
	const key = "capabilities.git"
	old, new := repositoriesOnce(c.old.Capabilities.Git), repositoriesOnce(c.new.Capabilities.Git)
	for _, g := range new {
		where := repositoryName(g.Repo)
		was, found := sameRepository(old, g.Repo)
		covered := slices.ContainsFunc(old, func(o manifest.Git) bool { return covers(o.Access, g.Access) && holds(o.Repo, g.Repo) })
		switch {
		case !found && g.Access == manifest.ReadWrite:
			c.add(key, !covered, "asks to read %s and make branches in it", where)
		case !found:
			c.add(key, !covered, "asks to read %s", where)
		case g.Access != was.Access && g.Access == manifest.ReadWrite:
			c.add(key, !covered, "asks to make branches in %s", where)
		case g.Access != was.Access:
			c.add(key, false, "no longer asks to make branches in %s", where)
		}
		for _, r := range g.Remotes {
			if !slices.Contains(was.Remotes, r) {
				c.add(key, !coveredRemote(old, g.Repo, r), "asks to list and fetch %s for %s", remoteName(r), where)
			}
		}
		for _, r := range was.Remotes {
			if !slices.Contains(g.Remotes, r) {
				c.add(key, false, "no longer asks to list and fetch %s for %s", remoteName(r), where)
			}
		}
	}
	for _, g := range old {
		if _, found := sameRepository(new, g.Repo); !found {
			c.add(key, false, "no longer asks for %s", repositoryName(g.Repo))
		}
	}
}

// repositoriesOnce has each repository once, with all that is asked for there, and its remotes in the form in
// which they are compared.
func repositoriesOnce(list []manifest.Git) []manifest.Git {
	var once []manifest.Git
	for _, g := range list {
		i := slices.IndexFunc(once, func(have manifest.Git) bool { return samePath(have.Repo, g.Repo) })
		if i < 0 {
			i = len(once)
			once = append(once, manifest.Git{Repo: g.Repo, Access: g.Access})
		}
		if g.Access == manifest.ReadWrite {
			once[i].Access = g.Access
		}
		for _, r := range g.Remotes {
			if u, err := manifest.NormalizeRemote(r); err == nil {
				r = u
			}
			if !slices.Contains(once[i].Remotes, r) {
				once[i].Remotes = append(once[i].Remotes, r)
			}
		}
	}
	return once
}

func repositoryName(repo string) string {
	if repo == manifest.Any {
		return "any repository that you name"
	}
	return "the repository " + repo
}

func remoteName(remote string) string {
	if remote == manifest.Any {
		return "any remote that you name"
	}
	return remote
}

func sameRepository(list []manifest.Git, repo string) (manifest.Git, bool) {
	i := slices.IndexFunc(list, func(g manifest.Git) bool { return samePath(g.Repo, repo) })
	if i < 0 {
		return manifest.Git{}, false
	}
	return list[i], true
}

// holds reports whether to ask for one repository is to ask for another, too. To ask for any is not: see names.
func holds(asked, repo string) bool { return asked == repo || inside(asked, repo) }

func coveredRemote(old []manifest.Git, repo, remote string) bool {
	return slices.ContainsFunc(old, func(o manifest.Git) bool { return holds(o.Repo, repo) && slices.Contains(o.Remotes, remote) })
}

// limitNames name what a limit bounds.
var limitNames = map[string]string{
	"memory": "memory", "time": "the time of a call", "fuel": "the instructions of a call", "input": "the size of a request",
	"output": "the size of an answer", "operations": "the host operations of a call", "log": "the log lines of a call",
	"files": "open files", "concurrency": "calls at the same time", "queue": "the wait for a turn",
	"http_request": "the body of a web request", "http_response": "the body of a web server's answer",
	"http_concurrency": "web requests at the same time",
}

// asked is a limit as a manifest asks for it.
func asked(l manifest.Limit) string {
	if l.Value == 0 {
		return "as usual"
	}
	return l.Text
}

// effective is a limit's value, the usual one where the manifest is silent. To be silent about fuel is to
// ask for any.
func effective(l manifest.Limit) int64 {
	if l.Value > 0 {
		return l.Value
	}
	for _, usual := range config.DefaultLimits().List() {
		if usual.Key == l.Key && usual.Value > 0 {
			return usual.Value
		}
	}
	return 1<<63 - 1
}
