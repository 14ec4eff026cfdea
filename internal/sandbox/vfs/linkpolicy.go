package vfs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// A module cannot read through a symbolic link that leaves its grants, but other programs can: a plugin with more grants,
// git, or the host at its next start (a confused deputy). So a symbolic link that a module creates resolves to a path in
// its grants, and continues to:
//
//   - ".." is only allowed at the start of a target, where it is relative to the link's own resolved directory. After a
//     name it would be relative to what that name resolves to later.
//   - Existing components of the target, such as the user's own symbolic links, must not leave the grants either.
//   - Moving a symbolic link, even one that the user has created, is authorized like creating it at its new path.
//   - Moving a directory moves the symbolic links in it. Each must resolve into the grants from its new path, or have the
//     same target as before: a user's absolute link out of the grants does not prevent the move.

// maxMoved bounds the entries of a directory that is moved to another one, since all of them are checked.
const maxMoved = 1 << 16

// maxPending bounds the names of directories that wait to be checked, in bytes.
const maxPending = 4 << 20

// chargeEach is the number of entries after which a walk is charged.
const chargeEach = 64

// linking makes checking and creating a symbolic link, and checking and moving a directory, critical sections, so that
// no link is created in a directory while this process moves it. Races with other processes are detected by a second
// check after the change.
var linking sync.Mutex

// checkTarget refuses a target that a symbolic link at p must not have.
func (f *FS) checkTarget(p *place, target string) error {
	if len(target) == 0 || strings.ContainsRune(target, 0) {
		return sys.EINVAL
	}
	if len(target) > maxPath {
		return sys.ENAMETOOLONG
	}
	if !f.staysInside(path.Dir(p.path), target) {
		return refusal{errno: sys.EACCES}
	}
	return nil
}

// staysInside reports whether a symbolic link in the directory dir with this target resolves into the grants.
func (f *FS) staysInside(dir, target string) bool {
	named := path.IsAbs(target)
	for _, part := range components(target) {
		if part == ".." && named {
			return false
		}
		named = named || part != ".."
	}
	if !path.IsAbs(target) {
		target = path.Join(dir, target)
	}
	target = path.Clean(target)
	if f.config.Mounts.containing(target) == nil {
		return false
	}
	p, err := f.resolve(target, walkMode{follow: true})
	if err == nil {
		virtual := p.isVirtual()
		p.close()
		return !virtual
	}
	r, _ := errors.AsType[refusal](err)
	return r.errno != sys.EACCES
}

// checkMove refuses to move p, which is a symbolic link or a directory, from the path "old" to the path "moved" if a
// symbolic link would resolve outside the grants afterwards.
func (f *FS) checkMove(p *place, old, moved string) error {
	st, err := p.dir.Lstat(p.name)
	switch {
	case err != nil:
		return err
	case st.IsDir() && path.Dir(old) != path.Dir(moved):
		return f.checkLinks(p.dir, p.name, old, moved)
	case !st.IsLink():
		return nil // renaming a directory in its parent does not change what relative links in it resolve to
	}
	target, err := p.dir.Readlink(p.name)
	if err == nil && !f.staysInside(path.Dir(moved), target) {
		err = refusal{errno: sys.EACCES, why: fmt.Errorf("%w: %q", errLinkEscapes, target)}
	}
	return err
}

// checkLinks checks the symbolic links below the directory called name in dir, for a move from the path "old" to the
// path "moved", before or after it.
func (f *FS) checkLinks(dir *beneath.Dir, name, old, moved string) error {
	seen, size := 0, 0
	for pending := []string{""}; len(pending) > 0; {
		below := pending[len(pending)-1] // path relative to name: "", or for example "/a/b"
		pending = pending[:len(pending)-1]
		size -= len(below)
		err := f.eachEntry(dir, name+below, func(e beneath.Entry) error {
			if seen++; seen > maxMoved || size > maxPending {
				return refusal{errno: sys.EPERM, why: errMoveTooLarge}
			}
			if seen%chargeEach == 0 {
				f.config.Charge(chargeEach)
			}
			at := below + "/" + e.Name
			if e.IsDir() {
				pending = append(pending, at)
				size += len(at)
			}
			if e.Type&os.ModeSymlink == 0 {
				return nil
			}
			target, err := dir.Readlink(name + at)
			if err != nil {
				return err
			}
			if f.staysInside(path.Dir(moved+at), target) || path.IsAbs(target) || Inside(old, path.Join(path.Dir(old+at), target)) {
				return nil
			}
			return refusal{errno: sys.EACCES, why: fmt.Errorf("%w: %s, by %q", errLinkEscapes, moved+at, target)}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eachEntry runs do on the entries of a directory.
func (f *FS) eachEntry(dir *beneath.Dir, name string, do func(beneath.Entry) error) error {
	file, _, err := dir.Open(name, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // the directory is only read, so no data is lost
	list := beneath.List(file)
	for {
		entries, err := list.Read(chargeEach)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := do(e); err != nil {
				return err
			}
		}
	}
}
