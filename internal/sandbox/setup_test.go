//go:build unix

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/remote"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/vfs"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Setup has the parameters of a Box, with grants as paths.
type Setup struct {
	Plugin string
	Grant  config.Grant
	Places config.Places
	// Own are absolute paths of the host's files and directories; see Hidden.Own.
	Own []string
	// Secret reads the value of a credential, which its error must not contain.
	Secret func(*config.Credential) (string, error)
	// The following fields are those of Config.
	Messages bool
	Zone     []byte
	GitUser  func(context.Context) (git.UserConfig, error)
	Claimed  func(context.Context, abi.Claims) (abi.Claims, error)
	Log      hclog.Logger
}

// open creates a Box from a Setup in one process. Its calls hold their locks until the end of the test.
func open(s Setup) (*Box, error) {
	c, err := openGrant(s)
	if err != nil {
		return nil, err
	}
	fetcher, err := s.newFetch()
	if err != nil {
		return nil, err
	}
	if len(s.Grant.HTTP) > 0 {
		c.Fetch = fetcher.Fetch
	}
	c.Transport = remote.NewTransport(dial.New(dial.Config{Log: s.Log}).DialContext, nil)
	locker, err := openLocker(s)
	if err != nil {
		return nil, err
	}
	c.Lock = locker.Begin().Lock
	return New(c)
}

// openLocker creates the Locker that a host process has for a Setup.
func openLocker(s Setup) (*Locker, error) {
	c, err := openGrant(s)
	if err != nil {
		return nil, err
	}
	names, err := s.openLocks()
	if err != nil {
		return nil, err
	}
	return NewLocker(LockerConfig{Mounts: c.Mounts, Hidden: c.Hidden, Names: names, Log: s.Log})
}

// openGrant resolves and opens the granted directories, and creates the plugin's directory for state. Files are
// closed by their finalizers. Fetch and Transport are not set.
func openGrant(s Setup) (Config, error) {
	c := Config{
		Plugin: s.Plugin, Env: s.Grant.Env, Limits: s.Grant.Limits, Cwd: s.Places.Cwd, Project: s.Places.Project,
		Messages: s.Messages, Zone: s.Zone, GitUser: s.GitUser, Claimed: s.Claimed, Log: s.Log,
	}
	for _, granted := range s.Grant.FS {
		if granted.State {
			// Only the user may access the state.
			if err := os.MkdirAll(granted.Path, 0o700); err != nil {
				return c, fmt.Errorf("state directory: %w", err)
			}
		}
		m, err := openMount(granted)
		if err != nil {
			return c, fmt.Errorf("granted directory %s: %w", granted.Path, err)
		}
		if granted.State {
			c.State = m.Path
		}
		c.Mounts = addMount(c.Mounts, m)
	}
	if err := c.openRepos(s.Grant.Git); err != nil {
		return c, err
	}
	c.Hidden = Hidden{Patterns: s.Grant.Deny, Own: realPaths(s.Own)}
	return c, nil
}

func openMount(granted config.Mount) (vfs.Mount, error) {
	m := vfs.Mount{Write: granted.Access == manifest.ReadWrite}
	var err error
	if m.Path, err = RealPath(granted.Path); err != nil {
		return m, err
	}
	if alias := filepath.Clean(granted.Path); alias != m.Path {
		m.Aliases = []string{alias}
	}
	m.Anchors = append(anchors(granted.Path, maxAnchorLinks), anchors(m.Path, maxAnchorLinks)...)
	m.InGit = vfs.InGitDirectory(m.Path)
	if m.Dir, err = openIfThere(m.Path); err != nil || m.Dir != nil || !m.Write {
		return m, err
	}
	m.Create, err = creator(m.Path)
	return m, err
}

// addMount adds a directory. If two names refer to the same directory, write access takes precedence.
func addMount(mounts []vfs.Mount, m vfs.Mount) []vfs.Mount {
	for i := range mounts {
		if have := &mounts[i]; have.Path == m.Path {
			have.Anchors = append(have.Anchors, m.Anchors...)
			have.Write = have.Write || m.Write
			have.Aliases = append(have.Aliases, m.Aliases...)
			if have.Create == nil {
				have.Create = m.Create
			}
			return mounts
		}
	}
	return append(mounts, m)
}

// openDirectory opens a directory by path. Symbolic links are followed, except as the last component.
func openDirectory(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// openIfThere opens a directory; it returns nil if the directory does not exist.
func openIfThere(path string) (*os.File, error) {
	file, err := openDirectory(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil, nil
	}
	return file, err
}

// creator opens the nearest existing ancestor of an absent directory. It returns a function that creates the directory below
// the ancestor without following symbolic links.
func creator(path string) (func(context.Context) (*os.File, error), error) {
	for above := filepath.Dir(path); ; above = filepath.Dir(above) {
		file, err := openIfThere(above)
		if err != nil {
			return nil, err
		}
		if file == nil && above != filepath.Dir(above) {
			continue
		}
		if file == nil {
			return nil, nil
		}
		rel, err := filepath.Rel(above, path)
		if err != nil {
			return nil, err
		}
		return func(context.Context) (*os.File, error) {
			dir, err := beneath.New(file)
			if err != nil {
				return nil, err
			}
			if err := dir.MkdirAll(rel, 0o755); err != nil {
				return nil, err
			}
			made, _, err := dir.Open(rel, os.O_RDONLY|unix.O_DIRECTORY, 0)
			return made, err
		}, nil
	}
}

func (c *Config) openRepos(granted []config.Git) error {
	for _, g := range granted {
		real, err := RealPath(g.Repo)
		if err != nil {
			return fmt.Errorf("granted repository %s: %w", g.Repo, err)
		}
		dir, err := openIfThere(real)
		if err != nil {
			return fmt.Errorf("granted repository %s: %w", g.Repo, usage.Cause(err))
		}
		c.Repos = append(c.Repos, git.Grant{Repo: real, Write: g.Access != manifest.Read, Commit: g.Access == manifest.Commit, Dir: dir})
		for _, remote := range g.Remotes {
			if !slices.Contains(c.Remotes, remote) {
				c.Remotes = append(c.Remotes, remote)
			}
		}
	}
	return nil
}

// openLocks creates and opens the plugin's directory of lock files, beside the state directories, where no module can remove them. It
// returns nil if there is no state directory.
func (s *Setup) openLocks() (*os.File, error) {
	if s.Places.State == "" {
		return nil, nil
	}
	path := filepath.Join(s.Places.State, ".locks", s.Plugin)
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return openDirectory(path)
}

// maxAnchorLinks bounds the symbolic links of one path.
const maxAnchorLinks = 40

// anchors returns the existing directories and symbolic links on a path, itself included.
func anchors(path string, links int) []vfs.FileID {
	var ids []vfs.FileID
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		dir, err := os.Open(filepath.Dir(path))
		if err != nil {
			continue
		}
		id, target := anchor(dir, filepath.Base(path))
		_ = dir.Close() // the directory is only read, so no data is lost
		ids = append(ids, id...)
		if target == "" || links == 0 {
			continue
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		links--
		ids = append(ids, anchors(filepath.Clean(target), links)...)
	}
	return ids
}

// anchor identifies a name in an open directory, and returns the target of a symbolic link.
func anchor(file *os.File, name string) (ids []vfs.FileID, target string) {
	dir, err := beneath.New(file)
	if err != nil {
		return nil, ""
	}
	st, err := dir.Lstat(name)
	if err != nil {
		return nil, ""
	}
	if st.IsLink() {
		target, err = dir.Readlink(name)
		if err != nil {
			target = ""
		}
	}
	return []vfs.FileID{st.FileID}, target
}

// newFetch returns the implementation of http/fetch for the host process, which has the network and the credentials.
func (s *Setup) newFetch() (*fetch.Fetcher, error) {
	limits := s.Grant.Limits
	c := fetch.Config{
		Limits: fetch.Limits{RequestBody: limits.HTTPRequest, ResponseBody: limits.HTTPResponse, Concurrent: limits.HTTPConcurrency},
		Log:    s.Log,
	}
	for _, granted := range s.Grant.HTTP {
		if granted.PublicWeb {
			c.PublicWeb = true
			continue
		}
		g := fetch.Grant{Origin: granted.Origin, Private: granted.Private}
		if credential := granted.Credential; credential != nil {
			g.Credential = &fetch.Credential{Header: credential.Header, Value: func(context.Context) (string, error) { return s.secret(credential) }}
		}
		c.Grants = append(c.Grants, g)
	}
	return fetch.New(c)
}

func (s *Setup) secret(c *config.Credential) (string, error) {
	if s.Secret == nil {
		return "", errors.New("the Setup has no function Secret, so no credential can be read")
	}
	value, err := s.Secret(c)
	if err != nil {
		return "", fmt.Errorf("credential %q: %w", c.Name, err)
	}
	return c.Prefix + value, nil
}
