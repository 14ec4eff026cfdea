// Package grant resolves the granted paths of a plugin, directories and repositories, to directory handles. The host calls Resolve
// once for each worker process, before that process starts. The worker inherits the handles and opens nothing by an absolute path.
// Set.Changed reports that a path no longer resolves to its handle.
//
// A path is resolved component by component beneath handles, so that there is no race between the check and the opening. A symbolic
// link below the project, or below a directory that any plugin may write, is refused: a plugin may have created it, or a cloned
// repository may have contained it. Links elsewhere belong to the user and are followed. The breadth of a grant is checked on the
// resolved path.
package grant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Config is the input of Resolve.
type Config struct {
	Plugin string
	Grant  config.Grant
	Places config.Places
	// Own are the host's own files and directories as absolute paths. They need not exist.
	Own []string
	// Writable are the resolved directories that any plugin of the host may write, as the function Writable returns them. A plugin may
	// have created the symbolic links below these directories. The directories of Grant need not be included.
	Writable []string
	// If NeedsState is set, Resolve fails if it can neither create nor open the plugin's state directory.
	NeedsState bool
	// CheckState returns an error if a directory of the host's state must not be used. If CheckState is nil, all are used. dir may have
	// been opened with O_PATH.
	CheckState func(dir *os.File, path string) error
	Log        hclog.Logger // where warnings are logged; nil: nowhere
}

// FileID is the identity of a file or directory, its device and inode. It is valid as long as the file exists.
type FileID struct{ Dev, Ino uint64 }

// Mount is a granted directory.
type Mount struct {
	Path    string // resolved path, which contains no symbolic link
	Granted string // lexical path, as written in the grant
	// Aliases are the granted paths that resolve to Path by symbolic links. By them a plugin finds the directory at the path that it
	// was granted.
	Aliases []string
	Write   bool
	State   bool // whether the directory is the plugin's state directory
	// Dir is the handle of the directory. If the directory did not exist, Dir is the handle of a staged empty directory, which Create
	// moves to Path. Dir is nil if the directory is absent and read-only, or cannot be created.
	Dir *os.File
	// Absent is set if the directory did not exist when its path was resolved. Set.Create creates it.
	Absent bool
	ID     FileID // identity of the directory Dir; zero if Dir is nil
	// Anchors are the directories and symbolic links through which Path was resolved, and the directory itself if it exists. A plugin
	// that could rename one of them could redirect the grant.
	Anchors []FileID
}

// Repo is a granted repository, or a directory that contains repositories.
type Repo struct {
	Path    string // resolved path of the repository
	Granted string
	Alias   string // the granted path if it resolves to Path by symbolic links; otherwise empty
	Write   bool   // whether branches may be created
	Commit  bool   // whether the index and the current branch may be changed too
	Remotes []string
	Dir     *os.File // handle of the directory at Path; nil if the directory does not exist
	// Above is the directory above Path whose .git makes it the top level of a repository; empty if there is none. Operations at Path,
	// which cannot see that directory, then report that its repository is not granted, instead of that there is none.
	Above   string
	ID      FileID
	Anchors []FileID
}

// Set is a resolved grant. It is safe for concurrent use. Callers must not modify its fields.
type Set struct {
	Mounts []Mount
	Repos  []Repo
	// Locks is the handle of the directory of the plugin's lock files; nil if there is no such directory.
	Locks *os.File
	// StateErr is the reason why the state directory or Locks is missing; nil if neither is.
	StateErr error
	Own      []string // resolved paths of the host's own files and directories

	log     hclog.Logger
	staging *os.File // handle of the directory .staging in the host's state directory; nil if there is none
	mu      sync.Mutex
	watched []watched
	staged  map[int]*staged // the staged directories, keyed by the index of the mount
	onState []FileID        // directories and symbolic links on the path to the host's state directory
	closed  bool
}

// Kinds of granted paths.
const (
	Directory  = "directory"
	Repository = "repository"
)

// refusedError reports that a granted path must not be used in its present state.
type refusedError struct {
	Kind    string // Directory or Repository
	Granted string
	What    string // what is wrong with the path Granted
	Remedy  string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("granted %s %s: %s: %s", e.Kind, e.Granted, e.What, e.Remedy)
}

// Resolve opens the granted paths. Its error names the path. If the rules for links or breadth refuse the path, the error is a
// *refusedError.
func Resolve(c Config) (*Set, error) {
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if n := len(c.Grant.FS) + len(c.Grant.Git); n > config.MaxDirectories { // the directories of a client's table can be more than those of the config
		return nil, fmt.Errorf("%d directories and repositories are granted, but at most %d may be granted: grant a directory that contains several of them", n, config.MaxDirectories)
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
			continue // openState has opened the plugin's state directory
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
		s.Own = append(s.Own, Resolved(path))
	}
	return nil
}

// mount resolves a granted directory. If two granted paths resolve to one directory, the wider access applies. A path that resolves
// into the plugin's own state directory adds nothing, since all of that directory is granted, and is writable.
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

// addAlias records granted as an alias of m if it differs from m.Path.
func (m *Mount) addAlias(granted string) {
	if granted = filepath.Clean(granted); granted != m.Path && !slices.Contains(m.Aliases, granted) {
		m.Aliases = append(m.Aliases, granted)
	}
}

// repository resolves a granted repository. If the lexical path of the repository is in a granted directory, the resolved path must
// be in that directory too, because an admin who withholds a directory withholds its history too.
func (s *Set) repository(c Config, w *walker, granted config.Git) error {
	p, err := w.resolve(Repository, granted.Repo, c.Places, granted.Within)
	if err != nil {
		return err
	}
	for _, m := range s.Mounts {
		if contain.Within(m.Granted, granted.Repo) && !contain.Within(m.Path, p.path()) {
			p.close()
			return &refusedError{Repository, granted.Repo,
				fmt.Sprintf("it resolves to %q, outside of the granted directory %s", p.path(), m.Granted), grantItself("git", p.path())}
		}
	}
	r := Repo{
		Path: p.path(), Granted: granted.Repo, Write: granted.Access != manifest.Read,
		Commit: granted.Access == manifest.Commit, Remotes: granted.Remotes, Anchors: p.anchors,
		Above: topLevelAbove(p.path()),
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

// topLevelAbove returns the nearest directory above path that contains a .git; empty if there is none. Nothing is opened.
func topLevelAbove(path string) string {
	for parent := filepath.Dir(path); parent != path; path, parent = parent, filepath.Dir(parent) {
		dotGit := filepath.Join(parent, ".git")
		info, err := os.Stat(dotGit)
		if err == nil && info.IsDir() {
			_, err = os.Lstat(filepath.Join(dotGit, "HEAD"))
		}
		if err == nil {
			return parent
		}
	}
	return ""
}

// Close closes the handles, and removes the staged directories that Create did not move to their paths.
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
