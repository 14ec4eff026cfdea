package grant

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Create creates the absent directory of mount i. It moves the staged directory to the mount's path, so that the mount's handle
// stays valid. If the mount's directory exists, Create does nothing. If another process has created something at the path,
// Create fails with fs.ErrExist. Changed reports such a path too, and also a path whose ancestor was moved.
func (s *Set) Create(i int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < 0 || i >= len(s.Mounts) || s.closed {
		return errors.New("no granted directory has that index")
	}
	m := s.Mounts[i]
	if !m.Absent {
		return nil
	}
	if s.staged[i] == nil {
		return fmt.Errorf("granted directory %s: it does not exist and is granted read-only", m.Granted)
	}
	// Granted ancestors that are absent are created first. Each then gets the directory that is staged for it, at its own path.
	var above []int
	for j := range s.staged {
		if contain.Within(s.Mounts[j].Path, m.Path) {
			above = append(above, j)
		}
	}
	slices.SortFunc(above, func(a, b int) int { return cmp.Compare(len(s.Mounts[a].Path), len(s.Mounts[b].Path)) })
	for _, j := range above {
		if err := s.staged[j].create(); err != nil {
			s.staged[j].moved = errors.Is(err, ErrMoved)
			return fmt.Errorf("granted directory %s: %w", s.Mounts[j].Granted, err)
		}
	}
	return nil
}

// create moves the staged directory to the mount's path. It creates missing parents and follows no symbolic link.
func (st *staged) create() error {
	if st.created || st.err != nil {
		return st.err
	}
	if err := checkIdentity(nil, st.at, st.ancestor); err != nil {
		return err
	}
	last := len(st.missing) - 1
	parent, _, err := makeDirs(st.ancestor, st.missing[:last], 0o755)
	if err != nil {
		return err
	}
	defer parent.Close()
	if now, err := identifyAt(st.holder, st.child); err != nil || now != st.id {
		return ErrMoved
	}
	if err := renameNoReplace(st.holder, st.child, parent, st.missing[last]); err != nil {
		return &os.PathError{Op: "create", Path: st.missing[last], Err: err}
	}
	if now, err := identifyAt(parent, st.missing[last]); err != nil || now != st.id {
		return ErrMoved
	}
	st.created = true
	return st.close()
}

// checkIdentity returns an error unless path names the open directory dir. path is either relative to at, or absolute.
func checkIdentity(at *os.File, path string, dir *os.File) error {
	id, err := identifyFile(dir)
	if err != nil {
		return err
	}
	var now FileID
	if at != nil {
		now, err = identifyAt(at, path)
	} else {
		now, err = identify(path, false)
	}
	if err != nil || now != id {
		return fmt.Errorf("%s was replaced: %w", path, ErrMoved)
	}
	return nil
}
