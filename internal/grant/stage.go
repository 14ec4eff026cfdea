package grant

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
)

const (
	maxHolds = 4                   // attempts to create a holder
	beside   = config.HolderPrefix // begins the name of a holder outside of the state directory
	markers  = "elsewhere-"        // begins the name of a link in .staging to such a holder
)

var errNoLocks = errors.New("the file system has no locks")

// staged is a writable granted directory that does not exist. An empty directory is created for it ahead of time, in a
// directory called its holder, so that the worker has a handle from its start; Create renames it to its path. A rename
// keeps the inode, so the handle and the Landlock rules stay valid.
//
// A holder is locked (flock) as long as its process lives, so that other processes can recognize and remove abandoned
// holders. Its name is random, so that another program cannot create it in advance.
type staged struct {
	ancestor *os.File // nearest existing ancestor
	at       string   // path of ancestor
	id       FileID   // identifies the staged directory
	missing  []string // absent path components below ancestor

	err     error // why the directory cannot be created
	created bool
	moved   bool // the staged directory or an ancestor was moved, so the grant has to be resolved again

	parent  *os.File // parent directory of the holder: ancestor, or .staging
	holder  *os.File
	name    string   // name of the holder in parent
	child   string   // name of the staged directory in the holder
	staging *os.File // directory of marker
	marker  string   // name of the link to a holder outside of the state directory; empty if there is none
}

// prepare stages the directory of a mount if it is absent and writable.
func (s *Set) prepare(i int) {
	st, m := s.staged[i], &s.Mounts[i]
	if st == nil {
		return
	}
	if !m.Write {
		_ = st.close() // nothing was written
		delete(s.staged, i)
		return
	}
	dir, err := st.stage(s.staging)
	if err != nil {
		st.err = fmt.Errorf("granted directory %s does not exist and cannot be created: %w", m.Granted, err)
		s.log.Warn("a granted directory cannot be created", "path", m.Granted, "reason", err)
		return
	}
	m.Dir, m.ID = dir, st.id
}

// stage creates the staged directory. Its holder is in the state directory if that is on the file system of ancestor;
// elsewhere it is in ancestor, and the file tree hides it by its name.
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
		if err := symlinkAt(filepath.Join(st.at, st.name), staging, marker); err == nil {
			st.staging, st.marker = staging, marker
		}
	}
	child := rand.Text()
	if err := mkdirAt(st.holder, child, 0o755); err != nil {
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

// hold creates a holder, a directory with mode 0700, and locks it.
func hold(parent *os.File, prefix string) (f *os.File, name string, err error) {
	for range maxHolds {
		name = prefix + rand.Text()
		if err = mkdirAt(parent, name, 0o700); err != nil {
			return nil, "", err
		}
		if f, err = lockHolder(parent, name, true); err == nil {
			return f, name, nil
		}
		// Before the holder was locked, another process may have removed it as abandoned.
		_ = rmdirAt(parent, name)
	}
	return nil, "", err
}

// lockHolder opens and locks a holder. On a file system without locks, only the creator of a holder may use it.
func lockHolder(parent *os.File, name string, made bool) (*os.File, error) {
	f, locked, err := holdDir(parent, name)
	if err != nil {
		return nil, err
	}
	err = errNoLocks
	if locked || made {
		// The holder may have been removed or replaced before it was locked.
		if err = checkIdentity(parent, name, f); err == nil {
			return f, nil
		}
	}
	_ = f.Close() // nothing was written
	return nil, err
}

// release removes the holder, and the staged directory unless it was moved to its path.
func (st *staged) release() {
	if st.holder == nil {
		return
	}
	if st.child != "" && !st.created {
		_ = rmdirAt(st.holder, st.child) // the next Resolve removes what is left
	}
	_ = removeHeld(st.holder, st.parent, st.name) // the next Resolve removes what is left
	if st.marker != "" {
		_ = unlinkAt(st.staging, st.marker) // the next Resolve removes what is left
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
