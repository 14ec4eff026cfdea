// Package grant resolves what a plugin is granted, paths of directories and repositories, into directory
// handles. Resolve is called once for each worker process, in the host, before the worker is started; the
// worker inherits the handles and opens nothing by an absolute path.
//
// A path is walked component by component beneath handles, so that what is judged is what is opened. A
// symbolic link that a plugin or a cloned repository may have made, that is one below the project or below
// any directory that a plugin may write, is refused; those of the user above are followed. Where a path
// leads decides how broad it is.
package grant

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// MaxDirectories bounds the directories and repositories of one grant. Each takes one descriptor, an absent
// one that may be written three, and the set two more.
const MaxDirectories = 128

// Config says what is to be resolved.
type Config struct {
	Plugin string
	Grant  config.Grant
	Places config.Places
	// Own are the host's own files and directories, absolute; they need not exist.
	Own []string
	// Writable are directories that any plugin of the host may write, resolved, as Writable gives them: links
	// below them may be plugin-made. Those of Grant need not be among them.
	Writable []string
	// NeedsState makes it an error that the plugin's state directory cannot be made or opened.
	NeedsState bool
	// CheckState judges each directory of the host's state that is opened; nil: all are accepted. The handle
	// may be one that only names the directory (O_PATH).
	CheckState func(dir *os.File, path string) error
	Log        hclog.Logger // nil: no log
}

// FileID identifies a file or directory while it exists.
type FileID struct{ Dev, Ino uint64 }

// Mount is a granted directory.
type Mount struct {
	Path    string // resolved: no component is a symbolic link
	Granted string // as the grant has it
	Write   bool
	State   bool // it is the plugin's own state directory
	// Dir is the handle of the directory; nil where the directory is absent and either granted to read only
	// or impossible to create. Where it was absent and may be written, Dir is an empty directory that Create
	// moves to Path.
	Dir *os.File
	// Absent: the directory did not exist when it was resolved. Set.Create makes it.
	Absent bool
	ID     FileID // of Dir; zero where that is nil
	// Anchors are the directories and symbolic links on the way from the root to the directory, and the
	// directory itself where it exists. A plugin that could move one would move the grant.
	Anchors []FileID
}

// Repo is a granted repository, or a directory that holds some.
type Repo struct {
	Path    string // resolved
	Granted string
	Write   bool
	Remotes []string
	Dir     *os.File // nil: it does not exist
	ID      FileID
	Anchors []FileID
}

// Set is a resolved grant. It is safe for concurrent use; its fields are not to be changed.
type Set struct {
	Mounts []Mount
	Repos  []Repo
	// Locks is the handle of the directory of the plugin's lock files; nil: there is none.
	Locks *os.File
	// StateErr says why there is no state directory or no Locks; nil if there are.
	StateErr error
	Own      []string // resolved

	log     hclog.Logger
	staging *os.File // State/.staging; nil: there is none
	mu      sync.Mutex
	watched []watched
	staged  map[int]*staged // by index of the mount
	closed  bool
}

// Kinds of what is granted.
const (
	Directory  = "directory"
	Repository = "repository"
)

// RefusedError says that a granted directory must not be used as it is now.
type RefusedError struct {
	Kind    string // Directory or Repository
	Granted string
	What    string // is wrong
	Remedy  string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("granted %s %s: %s: %s", e.Kind, e.Granted, e.What, e.Remedy)
}

// Resolve opens what is granted. Its error names the granted path, and is a *RefusedError where the rules
// for links and breadth refuse it.
func Resolve(c Config) (*Set, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if n := len(c.Grant.FS) + len(c.Grant.Git); n > MaxDirectories {
		return nil, fmt.Errorf("%d directories and repositories are granted, at most %d may be: grant a directory that holds several of them", n, MaxDirectories)
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

// mount resolves a granted directory. Of two names for one directory the wider access counts.
func (s *Set) mount(c Config, w *walker, granted config.Mount) error {
	p, err := w.resolve(Directory, granted.Path, c.Places)
	if err != nil {
		return err
	}
	write := granted.Access == manifest.ReadWrite
	for i := range s.Mounts {
		if s.Mounts[i].Path == p.path() {
			s.Mounts[i].Write = s.Mounts[i].Write || write
			s.watch(granted.Path, p, i)
			p.close()
			return nil
		}
	}
	m := Mount{Path: p.path(), Granted: granted.Path, Write: write, Absent: len(p.missing) > 0, Anchors: p.anchors}
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

// repository resolves a granted repository. One that the config places in a granted directory has to lie
// there once links are resolved: leaving a directory out means its history too.
func (s *Set) repository(c Config, w *walker, granted config.Git) error {
	p, err := w.resolve(Repository, granted.Repo, c.Places)
	if err != nil {
		return err
	}
	for _, m := range s.Mounts {
		if within(granted.Repo, m.Granted) && !within(p.path(), m.Path) {
			p.close()
			return &RefusedError{Repository, granted.Repo,
				fmt.Sprintf("it leads to %q, outside of the granted directory %s", p.path(), m.Granted), grantItself("git", p.path())}
		}
	}
	r := Repo{
		Path: p.path(), Granted: granted.Repo, Write: granted.Access == manifest.ReadWrite, Remotes: granted.Remotes, Anchors: p.anchors,
	}
	if len(p.missing) == 0 {
		r.ID, r.Dir = p.id(), p.take()
	}
	p.close()
	s.Repos = append(s.Repos, r)
	s.watch(granted.Repo, p, -1)
	return nil
}

// Close closes the handles and removes what was prepared for directories that were not created.
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
