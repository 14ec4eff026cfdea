// Package branch lists branches as git branch does.
package branch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

const (
	local  = "refs/heads/"
	remote = "refs/remotes/"
)

// Query selects branches: of Type local, remote or all, that contain a commit and do not contain another one. A nil revision does not
// matter.
type Query struct {
	Type                  string
	Contains, NotContains *string
}

// List returns the branches, one a line.
func List(r *repository.Repository, q Query) (string, error) {
	switch q.Type {
	case "local", "remote", "all":
	default:
		return "", repository.Refuse("Invalid branch type: %s", q.Type)
	}
	contains, err := commitOf(r, q, q.Contains)
	if err != nil {
		return "", err
	}
	lacks, err := commitOf(r, q, q.NotContains)
	if err != nil {
		return "", err
	}
	var lines []string
	add := func(mark, name, commit string) error {
		ok, err := matches(r, commit, contains, lacks)
		if ok {
			lines = append(lines, mark+" "+name)
		}
		return err
	}
	if q.Type != "remote" && r.Branch == "" {
		if err := add("*", detached(r), r.Commit); err != nil {
			return "", err
		}
	}
	for _, prefix := range []string{local, remote} {
		if prefix == local && q.Type == "remote" || prefix == remote && q.Type == "local" {
			continue
		}
		refs, err := r.Refs(prefix)
		if err != nil {
			return "", err
		}
		for _, ref := range refs {
			mark, name := " ", strings.TrimPrefix(ref.Name, prefix)
			switch {
			case prefix == local && name == r.Branch:
				mark = "*"
			case slices.Contains(r.Worktrees, ref.Name):
				mark = "+"
			}
			if prefix == remote && q.Type == "all" {
				name = "remotes/" + name
			}
			if ref.Target != "" {
				name += " -> " + strings.TrimPrefix(ref.Target, prefix)
			}
			if err := add(mark, name, ref.Hash); err != nil {
				return "", err
			}
		}
	}
	return strings.Join(lines, "\n"), nil
}

// detached describes a HEAD that refers to no branch.
func detached(r *repository.Repository) string {
	switch {
	case r.Detached == "":
		return "(no branch)"
	case r.Moved:
		return "(HEAD detached from " + r.Detached + ")"
	}
	return "(HEAD detached at " + r.Detached + ")"
}

// commitOf returns the commit of a revision; empty if there is no revision. The errors are those of git.
func commitOf(r *repository.Repository, q Query, revision *string) (string, error) {
	if revision == nil {
		return "", nil
	}
	command := "git branch"
	switch q.Type {
	case "remote":
		command += " -r"
	case "all":
		command += " -a"
	}
	for option, value := range map[string]*string{" --contains ": q.Contains, " --no-contains ": q.NotContains} {
		if value == revision {
			command += option + *revision
		}
	}
	fail := func(why string) error {
		return repository.Refuse("Cmd('git') failed due to: exit code(129)\n  cmdline: %s\n  stderr: 'error: %s'", command, why)
	}
	object, err := r.Resolve(*revision)
	if bad := (*repository.RequestError)(nil); errors.As(err, &bad) {
		return "", fail("malformed object name " + *revision)
	}
	if err != nil {
		return "", err
	}
	commit, err := r.PeelCommit(object)
	if err != nil {
		return "", fail(fmt.Sprintf("object %s is a %s, not a commit\nerror: no such commit %s", object.Hash, object.Type, *revision))
	}
	return commit.Hash, nil
}

// matches reports whether a branch contains a commit and lacks another one, where these are not empty.
func matches(r *repository.Repository, branch, contains, lacks string) (bool, error) {
	if contains != "" {
		ok, err := r.Reaches(branch, contains)
		if !ok || err != nil {
			return false, err
		}
	}
	if lacks == "" {
		return true, nil
	}
	ok, err := r.Reaches(branch, lacks)
	return !ok && err == nil, err
}
