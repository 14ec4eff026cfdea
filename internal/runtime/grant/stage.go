package grant

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

const (
	maxHolds = 4                   // most attempts to create a holder
	beside   = config.HolderPrefix // prefix of the names of holders outside of the state directory
	markers  = "elsewhere-"        // prefix of the names of links in .staging to holders outside of the state directory
)

var errNoLocks = errors.New("the file system has no locks")

// staged is a writable granted directory that does not exist. An empty directory for it is created in advance, in a directory called
// the holder, so that the worker has a handle from its start. Create renames the empty directory to the granted path. A rename
// keeps the inode, so the handle and the Landlock rules stay valid.
//
// A holder is locked (flock) as long as the process that created it lives, so that other processes can recognize abandoned holders and
// remove them. The name of a holder is random, so that another program cannot create it in advance.
type staged struct {
	ancestor *os.File // handle of the nearest existing ancestor of the granted path
	at       string   // path of the directory ancestor
	id       FileID   // identity of the staged directory
	missing  []string // absent path components below the directory ancestor

	err     error // the reason why the directory cannot be created; nil if it can
	created bool
	moved   bool // whether the staged directory or an ancestor was moved, so that the grant has to be resolved again

	parent  *os.File // directory that contains the holder: either ancestor or .staging
	holder  *os.File
	name    string   // name of the holder in the directory parent
	child   string   // name of the staged directory in the directory holder
	staging *os.File // directory that contains the link called marker
	marker  string   // name of the link to a holder outside of the state directory; empty if there is no such link
}

// prepare stages the directory of mount i if that directory is absent and writable.
func (s *Set) prepare(i int) {
	st, m := s.staged[i], &s.Mounts[i]
	if st == nil {
		return
	}
	if !m.Write {
		_ = st.close() // a failed close loses no data, since the handle wrote none
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

// stage creates the staged directory and its holder. The holder is in the state directory if that is on the file system of ancestor.
// Otherwise the holder is in ancestor, and the file tree hides it by its name.
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
		st.staging, st.marker = staging, markers+st.name
		_ = symlinkAt(filepath.Join(st.at, st.name), staging, st.marker) // without the link, the holder stays if the process is killed
	}
	child := rand.Text()
	if err := mkdirAt(st.holder, child, 0o755); err != nil {
		return nil, err
	}
	st.child = child
	e, err := openEntry(st.holder, child)
	if err == nil && e.file == nil {
		err = ErrMoved
	}
	st.id = e.id
	return e.file, err
}

// hold creates a holder, which is a directory with mode 0700, and locks it.
func hold(parent *os.File, prefix string) (f *os.File, name string, err error) {
	for range maxHolds {
		name = prefix + rand.Text()
		if err = mkdirAt(parent, name, 0o700); err != nil {
			return nil, "", err
		}
		if f, err = lockHolder(parent, name, true); err == nil {
			return f, name, nil
		}
		// Before this process locked the holder, another process may have removed it as abandoned.
		_ = rmdirAt(parent, name)
	}
	return nil, "", err
}

// lockHolder opens and locks a holder. On a file system without locks, only the process that created a holder may use it.
func lockHolder(parent *os.File, name string, made bool) (*os.File, error) {
	f, locked, err := holdDir(parent, name)
	if err != nil {
		return nil, err
	}
	err = errNoLocks
	if locked || made {
		// Before the lock was acquired, another process may have removed or replaced the holder.
		if err = checkIdentity(parent, name, f); err == nil {
			return f, nil
		}
	}
	_ = f.Close() // a failed close loses no data, since the handle wrote none
	return nil, err
}

// release removes the holder. It also removes the staged directory, unless Create has moved that directory to its path.
func (st *staged) release() {
	if st.holder == nil {
		return
	}
	if st.child != "" {
		_ = rmdirAt(st.holder, st.child) // after a failure, the next Resolve removes the directory
	}
	_ = removeHeld(st.holder, st.parent, st.name) // after a failure, the next Resolve removes the holder
	if st.marker != "" {
		_ = unlinkAt(st.staging, st.marker) // after a failure, the next Resolve removes the link
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
