package grant

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxHolders   = 32           // for one path, by as many processes and sets
	maxLeftovers = 1024         // that are looked at in one directory
	beside       = ".bulkhead-" // begins the name of a holder outside of the state directory
	markers      = "elsewhere-" // begins the name of a link in .staging to such a holder
	holderFlags  = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW
)

// staged is an absent directory that may be written. An empty directory stands in for it: it is made ahead
// in a holder, so that the worker has a handle from its start, and is renamed when it is needed. A renamed
// directory keeps its inode, so the handle and the rules of Landlock stay valid.
//
// A holder is locked (flock) while its process lives, so that others can remove what a dead one left.
type staged struct {
	ancestor *os.File // the nearest existing one
	at       string   // its path
	id       FileID   // of the directory
	missing  []string // below ancestor

	err     error // why the directory cannot be made
	created bool

	parent  *os.File // of the holder: ancestor, or .staging
	holder  *os.File
	name    string   // of the holder
	child   string   // the directory, in the holder
	staging *os.File // where marker lies
	marker  string   // empty: there is none
}

// prepare makes the stand-in for an absent directory that may be written.
func (s *Set) prepare(i int) {
	st, m := s.staged[i], &s.Mounts[i]
	if st == nil {
		return
	}
	if !m.Write {
		_ = st.close() // it was only looked at
		delete(s.staged, i)
		return
	}
	dir, err := st.stage(s.staging, m.Path)
	if err != nil {
		st.err = fmt.Errorf("granted directory %s: does not exist and cannot be made: %w", m.Granted, err)
		s.log.Warn("a granted directory cannot be made", "path", m.Granted, "reason", err)
		return
	}
	m.Dir, m.ID = dir, st.id
}

// stage makes the directory, in the state directory if that is on the file system of path, so that nothing
// shows beside path.
func (st *staged) stage(staging *os.File, path string) (*os.File, error) {
	sum := sha256.Sum256([]byte(path))
	prefix := hex.EncodeToString(sum[:8])
	var err error
	if staging != nil && sameMount(staging, st.ancestor) {
		st.parent = staging
		st.holder, st.name, err = hold(staging, prefix)
	} else {
		st.parent = st.ancestor
		st.holder, st.name, err = hold(st.ancestor, beside+prefix)
	}
	if err != nil {
		return nil, err
	}
	if st.parent != staging && staging != nil {
		marker := markers + st.name
		if err := unix.Symlinkat(filepath.Join(st.at, st.name), int(staging.Fd()), marker); err == nil || err == unix.EEXIST {
			st.staging, st.marker = staging, marker
		}
	}
	child := rand.Text()
	if err := unix.Mkdirat(int(st.holder.Fd()), child, 0o755); err != nil {
		return nil, err
	}
	st.child = child
	e, err := openEntry(st.holder, child)
	if err == nil && e.file == nil {
		err = errMoved
	}
	st.id = e.id
	return e.file, err
}

// hold makes a directory for the user alone, or takes one that a dead process left, and locks it.
func hold(parent *os.File, prefix string) (*os.File, string, error) {
	for n := range maxHolders {
		name := fmt.Sprintf("%s-%d", prefix, n)
		err := unix.Mkdirat(int(parent.Fd()), name, 0o700)
		if err != nil && err != unix.EEXIST {
			return nil, "", err
		}
		if f := lockHolder(parent, name, err == nil); f != nil {
			return f, name, nil
		}
	}
	return nil, "", errors.New("too many processes have it prepared: end some")
}

// lockHolder opens and locks a holder; nil: another process has it, or it is no directory. Without locks on
// its file system only who made it may have it.
func lockHolder(parent *os.File, name string, made bool) *os.File {
	f, err := openAt(parent, name, holderFlags, 0)
	if err != nil {
		return nil
	}
	err = retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil || made && err != unix.EWOULDBLOCK {
		// It may have been removed, and made anew, before the lock was held.
		var st unix.Stat_t
		now, err := identifyAt(int(parent.Fd()), name, false)
		if err == nil && unix.Fstat(int(f.Fd()), &st) == nil && now == fileID(&st) {
			return f
		}
	}
	_ = f.Close() // it was only looked at
	return nil
}

// release removes the holder, with the directory unless that was created.
func (st *staged) release() {
	if st.holder == nil {
		return
	}
	if st.child != "" && !st.created {
		_ = unix.Unlinkat(int(st.holder.Fd()), st.child, unix.AT_REMOVEDIR) // what stays the next Resolve removes
	}
	_ = unix.Unlinkat(int(st.parent.Fd()), st.name, unix.AT_REMOVEDIR) // likewise
	if st.marker != "" {
		_ = unix.Unlinkat(int(st.staging.Fd()), st.marker, 0) // likewise
	}
	_ = st.holder.Close()
	st.holder = nil
}

func (st *staged) close() error {
	st.release()
	err := closeFile(st.ancestor)
	st.ancestor = nil
	return err
}

// cleanStaging removes what dead processes left.
func (s *Set) cleanStaging(state *state, w *walker) {
	staging, err := openAt(state.dir, stagingName, holderFlags, 0)
	if err != nil {
		return
	}
	defer staging.Close()
	left, _ := staging.Readdirnames(maxLeftovers)
	for _, name := range left {
		holder, elsewhere := strings.CutPrefix(name, markers)
		if !elsewhere {
			s.removeHolder(staging, name)
			continue
		}
		path, err := readLink(staging, name)
		if err != nil || filepath.Base(path) != holder || !strings.HasPrefix(holder, beside) {
			continue
		}
		gone := true
		if p, err := w.walk(filepath.Dir(path)); err == nil && len(p.missing) == 0 {
			gone = s.removeHolder(p.dir, holder)
			p.close()
		} else if err == nil {
			p.close()
		}
		if gone {
			_ = unix.Unlinkat(int(staging.Fd()), name, 0) // what stays the next Resolve removes
		}
	}
}

// removeHolder removes the holder of a dead process and tells whether it is gone.
func (s *Set) removeHolder(parent *os.File, name string) bool {
	f := lockHolder(parent, name, false)
	if f == nil {
		_, err := identifyAt(int(parent.Fd()), name, false)
		return err == unix.ENOENT
	}
	defer f.Close()
	inside, _ := f.Readdirnames(maxLeftovers)
	for _, child := range inside {
		if err := unix.Unlinkat(int(f.Fd()), child, unix.AT_REMOVEDIR); err != nil {
			s.log.Warn("what a dead process left is not removed", "directory", filepath.Join(name, child), "reason", err)
		}
	}
	return unix.Unlinkat(int(parent.Fd()), name, unix.AT_REMOVEDIR) == nil
}
