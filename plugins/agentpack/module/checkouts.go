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
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Remote accesses remote git repositories. The tools show the errors of a Remote to users.
type Remote interface {
	// ListRemote returns those of the named references that exist, in the order of the repository.
	ListRemote(url string, names ...string) ([]RemoteRef, error)
	// Fetch calls take for each file of a commit, in the order of paths. If take returns an error, Fetch stops and
	// returns the error.
	Fetch(url, commit string, take func(RemoteFile) error) error
}

// RemoteRef is a reference of a remote repository. For an annotated tag, Peeled is the hash of the commit that the tag
// names; otherwise Peeled is "".
type RemoteRef struct{ Name, Hash, Peeled string }

// RemoteFile is a file or symbolic link of a commit. Path has slashes. The Content of a symbolic link is the target of
// the link.
type RemoteFile struct {
	Path    string
	Link    bool
	Content []byte
}

// CheckoutConfig is the configuration of Checkouts.
type CheckoutConfig struct {
	Cache  string // the directory that holds all checkouts, as an absolute path
	Remote Remote
	// Lock takes an exclusive lock until the call ends. The lock excludes fetches of other calls.
	Lock func(name string) error
}

// Checkouts is the CheckoutProvider for one call. It returns checkouts in the cache, and fetches all others.
type Checkouts struct {
	config   CheckoutConfig
	resolved map[remoteName]string // cached results of the method resolve
	warnings []string
}

type remoteName struct{ url, ref string }

// NewCheckouts returns the Checkouts for one call.
func NewCheckouts(config CheckoutConfig) *Checkouts {
	return &Checkouts{config: config, resolved: map[remoteName]string{}}
}

// Warnings returns warnings about the checkouts that the call has used.
func (c *Checkouts) Warnings() []string { return c.warnings }

// Checkout implements CheckoutProvider. It fetches a commit that is not in the cache.
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

// isCommit reports whether text is a full commit hash in lower case.
func isCommit(text string) bool {
	return len(text) == 40 && strings.Trim(text, "0123456789abcdef") == ""
}

// resolve returns the hash of the commit that ref names. The reference is the name of a branch or tag, or a commit
// hash.
func (c *Checkouts) resolve(url, ref string) (string, error) {
	if lower := strings.ToLower(ref); isCommit(lower) {
		return lower, nil
	}
	key := remoteName{url, ref}
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

// resolveRemotely asks the remote repository for the commit of a reference, and returns the hash of the commit. An
// annotated tag takes precedence over a branch, and a branch over a lightweight tag.
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
		return "", fmt.Errorf("%s resolves %[3]s to %.60[2]q, which is not a commit hash", url, found, ref)
	}
	return found, nil
}

// resolveFromCache is the fallback if resolveRemotely fails with the error why. If the cache has exactly one commit of
// the repository, resolveFromCache returns that commit.
func (c *Checkouts) resolveFromCache(url, ref string, why error) (string, error) {
	dir := filepath.Join(c.config.Cache, env.RemoteKey(url))
	entries, err := os.ReadDir(dir)
	if err != nil && !filesystem.IsAbsent(err) {
		return "", fault.IO(dir, err)
	}
	var commits []string
	for _, entry := range entries {
		if entry.IsDir() && isCommit(entry.Name()) {
			commits = append(commits, entry.Name())
		}
	}
	if len(commits) == 1 {
		c.warnings = append(c.warnings, fmt.Sprintf("%s: cannot resolve %s: %v; using %s, the only commit of this repository in the cache", url, ref, why, commits[0]))
		return commits[0], nil
	}
	return "", fmt.Errorf("%s: cannot resolve %s: %w; the cache %s has %d commits of this repository, so the commit is ambiguous: "+
		"ask the admin to grant that repository to the plugin as a remote, or specify a commit in the lockfile (agentpack lock) or as the module's ref", url, ref, why, dir, len(commits))
}

// findCached returns the directory of the cached checkout of a commit; "" if the commit is not in the cache. If an
// older version has cached the checkout under another name, findCached moves the checkout to dir. If the move fails, it
// returns the other directory.
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

var errOutsideRepository = errors.New("is outside of the repository")
