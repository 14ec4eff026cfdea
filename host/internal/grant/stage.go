package grant

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/host/config"
)

const (
	maxHolds    = 4                   // attempts to make a holder
	beside      = config.HolderPrefix // begins the name of a holder outside of the state directory
	markers     = "elsewhere-"        // begins the name of a link in .staging to such a holder
	holderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW
)

// staged is an absent directory that may be written. An empty directory stands in for it: it is made ahead
// in a holder, so that the worker has a handle from its start, and is renamed when it is needed. A renamed
// directory keeps its inode, so the handle and the rules of Landlock stay valid.
//
// A holder is locked (flock) while its process lives, so that others can remove what a dead one left. Its
// name is random: nobody can take the name beforehand.
type staged struct {
	ancestor *os.File // the nearest existing one
	at       string   // its path
	id       FileID   // of the directory
	missing  []string // below ancestor

	err     error // why the directory cannot be made
	created bool
	moved   bool // it, or what it stands in, was moved: it has to be prepared again

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
	dir, err := st.stage(s.staging)
	if err != nil {
		st.err = fmt.Errorf("granted directory %s: does not exist and cannot be made: %w", m.Granted, err)
		s.log.Warn("a granted directory cannot be made", "path", m.Granted, "reason", err)
		return
	}
	m.Dir, m.ID = dir, st.id
}

// stage makes the directory, in the state directory if that is on the file system of ancestor, so that
// nothing shows there. Elsewhere the vfs hides the holder by its name.
func (st *staged) stage(staging *os.File) (*os.File, error) {
	prefix := ""
	if st.parent = staging; staging == nil || !sameMount(staging, st.ancestor) {
		st.parent, prefix = st.ancestor, beside
	}
	var err error
	if st.holder, st.name, err = hold(st.parent, prefix); err != nil {
		return nil, err
	}
	if st.parent != staging && staging != nil {
		marker := markers + st.name
		if err := unix.Symlinkat(filepath.Join(st.at, st.name), int(staging.Fd()), marker); err == nil {
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

// hold makes a directory for the user alone, and locks it.
func hold(parent *os.File, prefix string) (f *os.File, name string, err error) {
	for range maxHolds {
		name = prefix + rand.Text()
		if err = unix.Mkdirat(int(parent.Fd()), name, 0o700); err != nil {
			return nil, "", err
		}
		if f, err = lockHolder(parent, name, true); err == nil {
			return f, name, nil
		}
		// Another process may have taken it for one that a dead process left, before it was locked.
		_ = unix.Unlinkat(int(parent.Fd()), name, unix.AT_REMOVEDIR)
	}
	return nil, "", err
}

// lockHolder opens and locks a holder. Without locks on its file system only who made it may have it.
func lockHolder(parent *os.File, name string, made bool) (*os.File, error) {
	f, err := openAt(parent, name, holderFlags, 0)
	if err != nil {
		return nil, err
	}
	err = retry(func() error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) })
	if err == nil || made && err != unix.EWOULDBLOCK {
		// It may have been removed, or replaced, before the lock was held.
		if err = leadsTo(int(parent.Fd()), name, f); err == nil {
			return f, nil
		}
	}
	_ = f.Close() // it was only looked at
	return nil, err
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
