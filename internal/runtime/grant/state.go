package grant

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// Names of the host's own directories beside the plugins' state directories.
const (
	locksName   = ".locks"
	stagingName = ".staging"
)

// openState opens the plugin's state directory, the directory of lock files and the directory of staging directories. It creates the
// first two if they are absent. If one of the three cannot be opened, only the features that need it are missing.
func (s *Set) openState(c Config, w *walker) error {
	if c.Places.State == "" {
		return nil
	}
	st := state{check: c.CheckState, path: filepath.Clean(c.Places.State)}
	defer st.close()
	err := st.open(newStateWalker(c.Places))
	if err == nil {
		s.onState = st.anchors
		s.cleanStaging(&st, w)
		err = s.openLocks(&st, c.Plugin)
		s.openStaging(&st)
	}
	stateErr := s.mountState(&st, c, err)
	if stateErr != nil && c.NeedsState {
		return stateErr
	}
	if s.StateErr = cmp.Or(stateErr, err); s.StateErr != nil {
		s.log.Warn("the state directory or the lock files cannot be used", "reason", s.StateErr)
	}
	return nil
}

// mountState mounts the plugin's state directory. broken is the reason why the host's state directory cannot be used; nil if it can.
func (s *Set) mountState(st *state, c Config, broken error) error {
	i := slices.IndexFunc(c.Grant.FS, func(m config.Mount) bool { return m.State })
	if i < 0 {
		return nil
	}
	granted := c.Grant.FS[i].Path
	below, ok := strings.CutPrefix(filepath.Clean(granted), st.path+string(filepath.Separator))
	if !ok {
		return fmt.Errorf("state directory %s is not in the host's state directory %s", granted, st.path)
	}
	if st.place == nil {
		return broken
	}
	p, err := st.make(strings.Split(below, string(filepath.Separator)))
	if err != nil {
		return err
	}
	m := Mount{Path: p.path(), Granted: granted, Write: true, State: true, ID: p.id(), Anchors: p.anchors}
	m.Dir = p.take()
	s.Mounts = append(s.Mounts, m)
	s.watch(granted, p, len(s.Mounts)-1)
	return nil
}

func (s *Set) openLocks(st *state, plugin string) error {
	p, err := st.make([]string{locksName, plugin})
	if err == nil {
		s.Locks = p.take()
	}
	return err
}

// openStaging opens the directory of staging directories. If it cannot be opened, directories are staged beside their granted paths.
func (s *Set) openStaging(st *state) {
	if p, err := st.make([]string{stagingName}); err == nil {
		s.staging = p.take()
	}
}

// state is the host's state directory, which contains the state directories of all plugins.
type state struct {
	check func(*os.File, string) error
	path  string // path of the state directory as configured
	*place
}

// newStateWalker returns the walker for the path of the host's state directory. It follows symbolic links even below directories that
// a plugin may write: a user may have moved ~/.local/state to another disk, and also grant a plugin the whole home directory. This
// is safe for three reasons. A module can only create links inside its own grants. A module cannot replace a link on this path,
// since that link is an anchor of each plugin's grants. A module does not see the directory to which the path resolves.
func newStateWalker(places config.Places) *walker { return newWalker(places, nil, nil) }

// open opens the state directory. It follows symbolic links of the user, and creates missing components of the path.
func (st *state) open(w *walker) error {
	p, err := w.walk(st.path)
	if err != nil {
		return stateError(st.path, err)
	}
	made, err := p.makeBelow(p.missing)
	p.close()
	if err != nil {
		return stateError(st.path, err)
	}
	if err := st.judge(made); err != nil {
		made.close()
		return err
	}
	st.place = made
	return nil
}

// make opens the directory at names below the state directory. It creates missing directories and follows no symbolic link.
func (st *state) make(names []string) (*place, error) {
	at := &place{root: st.root, dir: st.dir, steps: st.steps, anchors: st.anchors}
	for i := range names {
		next, err := at.makeBelow(names[i : i+1])
		if at.dir != st.dir {
			at.close()
		}
		if err != nil {
			return nil, stateError(filepath.Join(append([]string{st.path}, names[:i+1]...)...), err)
		}
		if err := st.judge(next); err != nil {
			next.close()
			return nil, err
		}
		at = next
	}
	return at, nil
}

func (st *state) judge(p *place) error {
	if st.check == nil {
		return nil
	}
	if err := st.check(p.dir, p.path()); err != nil {
		return stateError(p.path(), err)
	}
	return nil
}

func (st *state) close() {
	if st.place != nil {
		st.place.close()
	}
}

func stateError(path string, err error) error {
	return fmt.Errorf("state directory %s: %w: make it a directory that the user can write, or set $XDG_STATE_HOME to a different one", path, err)
}

// makeBelow opens the directory that is reached from p by names, the components of a relative path. It creates missing directories
// with mode 0700.
func (p *place) makeBelow(names []string) (*place, error) {
	dir, ids, err := makeDirs(p.dir, names, 0o700)
	if err != nil {
		return nil, err
	}
	out := &place{root: p.root, dir: dir, steps: slices.Clone(p.steps), anchors: slices.Concat(p.anchors, ids)}
	for i, id := range ids {
		out.steps = append(out.steps, step{name: names[i], id: id})
	}
	return out, nil
}

// makeDirs opens the directory that is reached from dir by names. It follows no symbolic link, and creates missing directories. If
// names is empty, it opens dir again.
func makeDirs(dir *os.File, names []string, perm uint32) (*os.File, []FileID, error) {
	at, err := openAt(dir, ".", handleFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	var ids []FileID
	for _, name := range names {
		next, err := makeDir(at, name, perm)
		_ = at.Close() // a failed close loses no data, since the handle wrote none
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", name, err)
		}
		at = next.file
		ids = append(ids, next.id)
	}
	return at, ids, nil
}

func makeDir(dir *os.File, name string, perm uint32) (entry, error) {
	e, err := openEntry(dir, name)
	if err == syscall.ENOENT {
		if err := mkdirAt(dir, name, perm); err != nil && err != syscall.EEXIST {
			return entry{}, err
		}
		e, err = openEntry(dir, name)
	}
	if err == nil && e.file == nil {
		err = fmt.Errorf("is a symbolic link to %q, which is not followed: replace the link by a directory", e.target)
	}
	return e, err
}
