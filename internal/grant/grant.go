// Package grant resolves the granted paths of a plugin, directories and repositories, to directory handles. The host
// calls Resolve once for each worker process before it starts the worker, which inherits the handles and opens nothing
// by an absolute path. Set.Changed reports when a path no longer resolves to its handle.
//
// A path is resolved component by component beneath handles, so that there is no race between the check and the opening.
// A symbolic link below the project, or below a directory that any plugin may write, may have been created by a plugin or
// come with a cloned repository, and is refused. Links elsewhere belong to the user and are followed. The breadth of a
// grant is checked on the resolved path.
package grant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// MaxDirectories bounds the directories and repositories of one grant. Each takes one descriptor, or three if it is
// writable and does not exist; the Set takes two more.
const MaxDirectories = 128

// Config is the input of Resolve.
type Config struct {
	Plugin string
	Grant  config.Grant
	Places config.Places
	// Own are the host's files and directories as absolute paths; they need not exist.
	Own []string
	// Writable are the resolved directories that any plugin of the host may write, as the function Writable returns them:
	// symbolic links below them may have been created by a plugin. The directories of Grant need not be included.
	Writable []string
	// NeedsState makes it an error if the plugin's state directory cannot be created or opened.
	NeedsState bool
	// CheckState decides whether a directory of the host's state may be used; nil accepts all. The handle may be one
	// opened with O_PATH.
	CheckState func(dir *os.File, path string) error
	Log        hclog.Logger // nil: no log
}

// FileID is the identity of a file or directory as long as it exists: its device and inode.
type FileID struct{ Dev, Ino uint64 }

// Mount is a granted directory.
type Mount struct {
	Path    string // resolved: no component is a symbolic link
	Granted string // lexical, as in the grant
	// Aliases are the granted paths that resolve to Path by symbolic links, so that a plugin finds the directory by the
	// path that it was granted.
	Aliases []string
	Write   bool
	State   bool // it is the plugin's state directory
	// Dir is the handle of the directory. If the directory did not exist, Dir is a staged empty directory that Create
	// moves to Path, or nil if the directory is read-only or cannot be created.
	Dir *os.File
	// Absent is set if the directory did not exist when it was resolved. Set.Create creates it.
	Absent bool
	ID     FileID // of Dir; zero where that is nil
	// Anchors are the directories and symbolic links that the resolution passed, and the directory itself if it exists. A
	// plugin that could rename one of them could redirect the grant.
	Anchors []FileID
}

// Repo is a granted repository, or a directory that contains repositories.
type Repo struct {
	Path    string // resolved
	Granted string
	Alias   string // the granted path if it resolves to Path by symbolic links, else empty
	Write   bool
	Remotes []string
	Dir     *os.File // nil if it does not exist
	ID      FileID
	Anchors []FileID
}

// Set is a resolved grant. It is safe for concurrent use; its fields must not be modified.
type Set struct {
	Mounts []Mount
	Repos  []Repo
	// Locks is the handle of the directory of the plugin's lock files; nil if there is none.
	Locks *os.File
	// StateErr is the reason why the state directory or Locks is missing; nil if both exist.
	StateErr error
	Own      []string // resolved paths of the host's own files and directories

	log     hclog.Logger
	staging *os.File // State/.staging; nil if there is none
	mu      sync.Mutex
	watched []watched
	staged  map[int]*staged // by index of the mount
	onState []FileID        // the directories and links on the path to the host's state directory
	closed  bool
}

// The kinds of granted paths.
const (
	Directory  = "directory"
	Repository = "repository"
)

// RefusedError reports that a granted path must not be used in its present state.
type RefusedError struct {
	Kind    string // Directory or Repository
	Granted string
	What    string // what is wrong with it
	Remedy  string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("granted %s %s: %s: %s", e.Kind, e.Granted, e.What, e.Remedy)
}

// Resolve opens the granted paths. Its error names the path, and is a *RefusedError if the rules for links and breadth
// refuse it.
func Resolve(c Config) (*Set, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if n := len(c.Grant.FS) + len(c.Grant.Git); n > MaxDirectories {
		return nil, fmt.Errorf("%d directories and repositories are granted, at most %d may be: grant a directory that contains several of them", n, MaxDirectories)
	}
	s := &Set{log: c.Log, staged: map[int]*staged{}}
	if err := s.resolve(c); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Set) resolve(c Config) error {
	w := newWalker(c.Places, c.Writable, c.Grant.FS)
	if err := s.openState(c, w); err != nil {
		return err
	}
	for _, granted := range c.Grant.FS {
		if granted.State {
			continue // opened with the host's state
		}
		if err := s.mount(c, w, granted); err != nil {
			return err
		}
	}
	for i := range s.Mounts {
		s.prepare(i)
	}
	for _, granted := range c.Grant.Git {
		if err := s.repository(c, w, granted); err != nil {
			return err
		}
	}
	for _, path := range c.Own {
		s.Own = append(s.Own, resolved(path))
	}
	return nil
}

// mount resolves a granted directory. If two granted paths resolve to one directory, the wider access applies. One that
// resolves into the plugin's own state directory adds nothing: all of that is granted, writable.
func (s *Set) mount(c Config, w *walker, granted config.Mount) error {
	p, err := w.resolve(Directory, granted.Path, c.Places, granted.Within)
	if err != nil {
		return err
	}
	write := granted.Access == manifest.ReadWrite
	for i := range s.Mounts {
		m := &s.Mounts[i]
		if m.Path != p.path() && !(m.State && contain.Within(m.Path, p.path())) {
			continue
		}
		m.Write = m.Write || write
		if m.Path == p.path() {
			m.addAlias(granted.Path)
			s.watch(granted.Path, p, i)
		}
		p.close()
		return nil
	}
	m := Mount{Path: p.path(), Granted: granted.Path, Write: write, Absent: len(p.missing) > 0, Anchors: slices.Concat(s.onState, p.anchors)}
	m.addAlias(granted.Path)
	i := len(s.Mounts)
	if m.Absent {
		s.staged[i] = &staged{at: p.existing(), ancestor: p.take(), missing: p.missing}
	} else {
		m.ID, m.Dir = p.id(), p.take()
	}
	s.Mounts = append(s.Mounts, m)
	s.watch(granted.Path, p, i)
	return nil
}

// addAlias records a granted path that differs from the resolved path.
func (m *Mount) addAlias(granted string) {
	if granted = filepath.Clean(granted); granted != m.Path && !slices.Contains(m.Aliases, granted) {
		m.Aliases = append(m.Aliases, granted)
	}
}

// repository resolves a granted repository. If its lexical path is in a granted directory, its resolved path must be in
// that directory, too: an admin who withholds a directory also withholds its history.
func (s *Set) repository(c Config, w *walker, granted config.Git) error {
	p, err := w.resolve(Repository, granted.Repo, c.Places, granted.Within)
	if err != nil {
		return err
	}
	for _, m := range s.Mounts {
		if contain.Within(m.Granted, granted.Repo) && !contain.Within(m.Path, p.path()) {
			p.close()
			return &RefusedError{Repository, granted.Repo,
				fmt.Sprintf("it resolves to %q, outside of the granted directory %s", p.path(), m.Granted), grantItself("git", p.path())}
		}
	}
	r := Repo{
		Path: p.path(), Granted: granted.Repo, Write: granted.Access == manifest.ReadWrite, Remotes: granted.Remotes, Anchors: p.anchors,
	}
	if granted := filepath.Clean(granted.Repo); granted != r.Path {
		r.Alias = granted
	}
	if len(p.missing) == 0 {
		r.ID, r.Dir = p.id(), p.take()
	}
	p.close()
	s.Repos = append(s.Repos, r)
	s.watch(granted.Repo, p, -1)
	return nil
}

// Close closes the handles and removes the staged directories that were not created.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, st := range s.staged {
		errs = append(errs, st.close())
	}
	for _, m := range s.Mounts {
		errs = append(errs, closeFile(m.Dir))
	}
	for _, r := range s.Repos {
		errs = append(errs, closeFile(r.Dir))
	}
	errs = append(errs, closeFile(s.Locks), closeFile(s.staging))
	return errors.Join(errs...)
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}
