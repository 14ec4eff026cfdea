package grant

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// Create makes the absent directory of a mount; its handle is the one that the set had from the start. It
// does nothing for one that exists. An error that is fs.ErrExist says that something else has come to its
// path; Changed reports that too, and a directory that cannot be made since one on its way was moved.
func (s *Set) Create(i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= len(s.Mounts) || s.closed {
		return errors.New("there is no such granted directory")
	}
	m := s.Mounts[i]
	if !m.Absent {
		return nil
	}
	if s.staged[i] == nil {
		return fmt.Errorf("granted directory %s: does not exist, and is granted to read only", m.Granted)
	}
	// A granted directory above that is absent too comes first, so that it is the one with the handle.
	var above []int
	for j := range s.staged {
		if within(m.Path, s.Mounts[j].Path) {
			above = append(above, j)
		}
	}
	slices.SortFunc(above, func(a, b int) int { return cmp.Compare(len(s.Mounts[a].Path), len(s.Mounts[b].Path)) })
	for _, j := range above {
		if err := s.staged[j].create(); err != nil {
			s.staged[j].moved = errors.Is(err, errMoved)
			return fmt.Errorf("granted directory %s: %w", s.Mounts[j].Granted, err)
		}
	}
	return nil
}

// create moves the directory to its path. It makes missing parents, and follows no link.
func (st *staged) create() error {
	if st.created || st.err != nil {
		return st.err
	}
	if err := leadsTo(unix.AT_FDCWD, st.at, st.ancestor); err != nil {
		return err
	}
	last := len(st.missing) - 1
	parent, _, err := makeDirs(st.ancestor, st.missing[:last], 0o755)
	if err != nil {
		return err
	}
	defer parent.Close()
	if now, err := identifyAt(int(st.holder.Fd()), st.child, false); err != nil || now != st.id {
		return errMoved
	}
	if err := renameNoReplace(st.holder, st.child, parent, st.missing[last]); err != nil {
		return &os.PathError{Op: "create", Path: st.missing[last], Err: err}
	}
	if now, err := identifyAt(int(parent.Fd()), st.missing[last], false); err != nil || now != st.id {
		return errMoved
	}
	st.created = true
	return st.close()
}

// leadsTo is nil if path leads to an open directory.
func leadsTo(at int, path string, dir *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return err
	}
	if now, err := identifyAt(at, path, false); err != nil || now != fileID(&st) {
		return fmt.Errorf("%s is another directory now: %w", path, errMoved)
	}
	return nil
}

// renameUnlessExists is for file systems that cannot rename without replacing. What comes to the new name
// in between is replaced only if it is an empty directory.
func renameUnlessExists(from *os.File, name string, to *os.File, newName string) error {
	if _, err := identifyAt(int(to.Fd()), newName, false); err != unix.ENOENT {
		return cmp.Or(err, error(unix.EEXIST))
	}
	return retry(func() error { return unix.Renameat(int(from.Fd()), name, int(to.Fd()), newName) })
}
