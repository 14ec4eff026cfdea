// Package gitmodule gets modules that come from git repositories: from the cache in agentpack's home, and
// where they are not there yet, from the repository itself, if the admin has granted that.
// Checkouts.Checkout is the one call.
package module

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Remote asks repositories. An error says, in words for the user, why it could not.
type Remote interface {
	// ListRemote returns those of the named references that there are, in the repository's order.
	ListRemote(url string, names ...string) ([]RemoteRef, error)
	// Fetch gives take each file of a commit, in the order of paths. An error of take's ends it.
	Fetch(url, commit string, take func(RemoteFile) error) error
}

// Ref is a reference of a repository. Peeled is what an annotated tag stands for; "" for all else.
type RemoteRef struct{ Name, Hash, Peeled string }

// File is a file of a commit. Path has slashes; a Link's content is its target.
type RemoteFile struct {
	Path    string
	Link    bool
	Content []byte
}

// Config is what Checkouts needs.
type CheckoutConfig struct {
	Cache  string // the folder of all checkouts, absolute
	Remote Remote
	// Lock keeps other calls from fetching what this one does, until the call ends.
	Lock func(name string) error
}

// Checkouts finds and makes checkouts in one call.
type Checkouts struct {
	config   CheckoutConfig
	resolved map[RemoteRef]string // by URL and reference, so that each is asked for once
	warnings []string
}

// New returns the checkouts of one call.
func NewCheckouts(config CheckoutConfig) *Checkouts {
	return &Checkouts{config: config, resolved: map[RemoteRef]string{}}
}

// Warnings are what a user should know of the checkouts that were given.
func (c *Checkouts) Warnings() []string { return c.warnings }

// Checkout returns the folder that holds a module's repository at the commit that is wanted: the locked one,
// or the one that the manifest's reference is at now. It fetches what is not in the cache.
func (c *Checkouts) Checkout(id string, git config.Git, locked *config.LockedGit) (string, error) {
	url, commit := git.URL, ""
	if locked != nil {
		url, commit = locked.URL, locked.Commit
		if !isCommit(commit) {
			return "", fault.New(fault.ConfigInvalid, fault.Details{"module_id": id}, "the lockfile's commit %.60q is not 40 hexadecimal digits: run agentpack lock", commit)
		}
	} else {
		var err error
		if commit, err = c.resolve(url, git.Ref); err != nil {
			return "", err
		}
	}
	dir := filepath.Join(c.config.Cache, env.RemoteKey(url), commit)
	if found, err := c.findCached(dir, id, commit); err != nil || found != "" {
		return found, err
	}
	return dir, c.fetch(url, commit, dir)
}

// isCommit tells whether a text is a full hash, in lower case.
func isCommit(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// resolve returns the commit that a reference is at. A commit is one itself.
func (c *Checkouts) resolve(url, ref string) (string, error) {
	if lower := strings.ToLower(ref); isCommit(lower) {
		return lower, nil
	}
	key := RemoteRef{Name: url, Hash: ref}
	if commit, ok := c.resolved[key]; ok {
		return commit, nil
	}
	commit, err := c.resolveRemotely(url, ref)
	if err != nil {
		if commit, err = c.resolveFromCache(url, ref, err); err != nil {
			return "", err
		}
	}
	c.resolved[key] = commit
	return commit, nil
}

// ask looks a reference up in the repository: a tag's commit first, then a branch, then a plain tag.
func (c *Checkouts) resolveRemotely(url, ref string) (string, error) {
	branch, tag := "refs/heads/"+ref, "refs/tags/"+ref
	refs, err := c.config.Remote.ListRemote(url, branch, tag)
	if err != nil {
		return "", err
	}
	found := ""
	for _, r := range refs {
		if r.Name == tag && r.Peeled != "" {
			found = r.Peeled
			break
		}
		if (r.Name == branch || r.Name == tag) && found == "" {
			found = r.Hash
		}
	}
	if found == "" {
		return "", fmt.Errorf("%s has neither a branch nor a tag %q", url, ref)
	}
	if !isCommit(found) {
		return "", fmt.Errorf("%s answers %.60q for %s, which is no commit", url, found, ref)
	}
	return found, nil
}

// onlyCached is for when the repository could not be asked: if just one commit of it is in the cache, that
// one is used. Of several nobody knows which is meant.
func (c *Checkouts) resolveFromCache(url, ref string, why error) (string, error) {
	dir := filepath.Join(c.config.Cache, env.RemoteKey(url))
	entries, err := os.ReadDir(dir)
	if err != nil && !disk.IsMissing(err) {
		return "", fault.IO(dir, err)
	}
	var commits []string
	for _, entry := range entries {
		if entry.IsDir() && isCommit(entry.Name()) {
			commits = append(commits, entry.Name())
		}
	}
	if len(commits) == 1 {
		c.warnings = append(c.warnings, fmt.Sprintf("%s could not be asked for %s (%v): the one commit of it in the cache, %s, is used", url, ref, why, commits[0]))
		return commits[0], nil
	}
	return "", fmt.Errorf("%s could not be asked for %s: %w; and the cache %s has %d commits of it, so none is certain to be meant: "+
		"have the admin grant the plugin that repository as a remote, or name a commit by a lockfile (agentpack lock) or as the module's ref", url, ref, why, dir, len(commits))
}

// cached returns the checkout if it is in the cache; "" if not. One under a name that older versions gave is
// moved to where it belongs, or used where it is.
func (c *Checkouts) findCached(dir, id, commit string) (string, error) {
	places := []string{dir}
	for _, older := range []string{env.ModuleKey(id), env.UntruncatedModuleKey(id), env.Sanitize(id)} {
		if len(older) < 256 && older != "" {
			places = append(places, filepath.Join(c.config.Cache, older, commit))
		}
	}
	for _, place := range places {
		kind, err := disk.Stat(place)
		if err != nil {
			return "", fault.IO(place, err)
		}
		if kind != disk.Directory {
			continue
		}
		if place == dir {
			return dir, nil
		}
		if os.MkdirAll(filepath.Dir(dir), 0o755) == nil && os.Rename(place, dir) == nil {
			return dir, nil
		}
		return place, nil
	}
	return "", nil
}

var errLeadsOut = errors.New("leads out of the repository")
