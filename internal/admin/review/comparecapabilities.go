package review

import (
	"math"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// names reports names that were added or removed. A name that the new manifest lists is reported even if the old manifest requests any
// name ("*"): a listed name can be granted without the admin naming it.
func (c *comparison) names(key, what string, old, new []string) {
	c.list(key, "asks for", true, old, new, func(name string) string {
		switch name {
		case manifest.Any:
			return "any " + strings.TrimPrefix(what, "the ") + " that you name"
		case manifest.PublicWeb: // no environment variable and no question has this name
			return config.PublicWebWords
		}
		return what + " " + name
	})
}

// normalizeOrigins returns the origins in normalized form, in which they can be compared.
func normalizeOrigins(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = text
		if o, err := origin.Parse(text); err == nil {
			out[i] = o.String()
		}
	}
	return out
}

func (c *comparison) directories() {
	const key = "capabilities.fs"
	old, new := mergeDirectories(c.old.Capabilities.FS), mergeDirectories(c.new.Capabilities.FS)
	for _, f := range new {
		was, found := find(old, f.Path, directoryPath)
		switch {
		case !found:
			c.add(key, !coversDirectory(old, f), "asks to %s%s", accessWords(f.Access), f.Path)
		case f.Access != was.Access:
			c.add(key, !coversDirectory(old, f), "asks to %s%s, formerly to %s", accessWords(f.Access), f.Path, strings.TrimSuffix(accessWords(was.Access), " everything in "))
		case f.Optional != was.Optional && f.Optional:
			c.add(key, false, "no longer requires %s, which is optional", f.Path)
		case f.Optional != was.Optional:
			c.add(key, false, "requires %s, which was optional", f.Path)
		}
		if found && f.Why != was.Why {
			c.text(key, "the reason for "+f.Path, was.Why, f.Why, false)
		}
	}
	for _, f := range old {
		if _, found := find(new, f.Path, directoryPath); !found {
			c.add(key, false, "no longer asks to %s%s", accessWords(f.Access), f.Path)
		}
	}
}

// mergeDirectories merges requests for the same directory. The result has the highest access, and is optional only if all of these
// requests are.
func mergeDirectories(list []manifest.FS) []manifest.FS {
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

// find returns the request for the same directory or repository.
func find[T any](list []T, path string, pathOf func(T) string) (request T, found bool) {
	if i := slices.IndexFunc(list, func(r T) bool { return samePath(pathOf(r), path) }); i >= 0 {
		return list[i], true
	}
	return request, false
}

func directoryPath(f manifest.FS) string { return f.Path }

func repositoryPath(g manifest.Git) string { return g.Repo }

// coversDirectory reports whether a request in old includes the request f.
func coversDirectory(old []manifest.FS, f manifest.FS) bool {
	return slices.ContainsFunc(old, func(o manifest.FS) bool { return o.Access.Covers(f.Access) && inside(o.Path, f.Path) })
}

// inside reports whether path is dir or below dir. Both are paths of a manifest. If both begin with the same variable, its value does
// not matter.
func inside(dir, path string) bool {
	variable, rest, err := manifest.SplitPath(dir)
	other, below, err2 := manifest.SplitPath(path)
	return err == nil && err2 == nil && variable == other && contain.Within("/"+rest, "/"+below)
}

func (c *comparison) repositories() {
	const key = "capabilities.git"
	old, new := mergeRepositories(c.old.Capabilities.Git), mergeRepositories(c.new.Capabilities.Git)
	for _, g := range new {
		where := repositoryName(g.Repo)
		was, found := find(old, g.Repo, repositoryPath)
		covered := slices.ContainsFunc(old, func(o manifest.Git) bool { return o.Access.Covers(g.Access) && coversRepository(o.Repo, g.Repo) })
		switch {
		case !found && g.Access == manifest.Read:
			c.add(key, !covered, "asks to read %s", where)
		case !found:
			c.add(key, !covered, "asks to read %s and %s it", where, changesTo(g.Access))
		case g.Access == was.Access:
		case g.Access.Covers(was.Access):
			c.add(key, !covered, "asks to %s %s", changesTo(g.Access), where)
		case g.Access == manifest.ReadWrite:
			c.add(key, false, "no longer asks to stage files and commit on the current branch of %s", where)
		default:
			c.add(key, false, "no longer asks to %s %s", changesTo(was.Access), where)
		}
		for _, r := range g.Remotes {
			if !slices.Contains(was.Remotes, r) {
				c.add(key, !coversRemote(old, g.Repo, r), "asks to list and fetch %s for %s", remoteName(r), where)
			}
		}
		for _, r := range was.Remotes {
			if !slices.Contains(g.Remotes, r) {
				c.add(key, false, "no longer asks to list and fetch %s for %s", remoteName(r), where)
			}
		}
	}
	for _, g := range old {
		if _, found := find(new, g.Repo, repositoryPath); !found {
			c.add(key, false, "no longer asks for %s", repositoryName(g.Repo))
		}
	}
}

// changesTo describes what an access permits besides reading, followed by a repository.
func changesTo(a manifest.Access) string {
	if a == manifest.Commit {
		return "stage files, commit on the current branch and create branches in"
	}
	return "create branches in"
}

// mergeRepositories merges requests for the same repository into their union, and normalizes remotes.
func mergeRepositories(list []manifest.Git) []manifest.Git {
	var once []manifest.Git
	for _, g := range list {
		i := slices.IndexFunc(once, func(have manifest.Git) bool { return samePath(have.Repo, g.Repo) })
		if i < 0 {
			i = len(once)
			once = append(once, manifest.Git{Repo: g.Repo, Access: g.Access})
		}
		if g.Access.Covers(once[i].Access) {
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

// coversRepository reports whether a request for the repository requested includes repo. A request for any repository does not include
// named repositories; the method names explains why.
func coversRepository(requested, repo string) bool {
	return requested == repo || inside(requested, repo)
}

func coversRemote(old []manifest.Git, repo, remote string) bool {
	return slices.ContainsFunc(old, func(o manifest.Git) bool { return coversRepository(o.Repo, repo) && slices.Contains(o.Remotes, remote) })
}

// limitNames describes each limit in words, keyed by the key of the limit.
var limitNames = map[string]string{
	"memory": "memory", "time": "the time of a call", "fuel": "the instructions of a call", "input": "the size of a request",
	"output": "the size of an answer", "operations": "the host operations of a call", "log": "the log lines of a call",
	"files": "open files", "concurrency": "calls at the same time", "queue": "the time in the queue",
	"ask":          "the time that a client has to answer",
	"task":         "the time of a call that runs as a task",
	"http_request": "the body of a web request", "http_response": "the body of a web server's answer",
	"http_concurrency": "web requests at the same time",
	"result":           "the size of a result for a model",
}

// limitText formats the limit l of a manifest.
func limitText(l manifest.Limit) string {
	if l.Value == 0 {
		return "the default"
	}
	return l.Text
}

// effective returns the value of the limit l, or the default of l if it is unset. Fuel is unbounded by default.
func effective(l manifest.Limit) int64 {
	if l.Value > 0 {
		return l.Value
	}
	for _, d := range config.DefaultLimits().List() {
		if d.Key == l.Key && d.Value > 0 {
			return d.Value
		}
	}
	return math.MaxInt64
}
