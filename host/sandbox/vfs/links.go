//go:build linux || darwin

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

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// Nothing could be read here through a link out of the grants, but it would be a trap for whoever else
// follows it: a plugin with wider grants, git, the next start. So a link that a module makes leads into its
// grants, and goes on doing so:
//
//   - ".." may only be where a target begins. There it counts from the link's own place, which is known;
//     behind a name it would count from where that name leads by then.
//   - What is on the way now must not lead out either, such as a link of the user's.
//   - A link that is moved is judged as if it were made where it goes, whoever made it.
//   - With a directory, the links in it move. Each of them must lead into the grants from its new place, or
//     to where it led before: a link of the user's that leads out by an absolute path is no reason to refuse.

// maxMoved bounds the entries of a directory that is moved to another one, for which they are looked at.
const maxMoved = 1 << 16

// maxPending bounds the names of directories that are still to be looked at, in bytes.
const maxPending = 4 << 20

// chargeEach is after how many entries a walk is charged.
const chargeEach = 64

// linking is held while a link is judged and made, or a directory judged and moved, so that no link is made
// in a directory of this process that is just being moved. Other processes are found by a second look.
var linking sync.Mutex

// mayPoint says whether a link at p may have this target.
func (f *FS) mayPoint(p *place, target string) error {
	if len(target) == 0 || strings.ContainsRune(target, 0) {
		return sys.EINVAL
	}
	if len(target) > maxPath {
		return sys.ENAMETOOLONG
	}
	if !f.leadsInside(path.Dir(p.path), target) {
		return refusal{errno: sys.EACCES}
	}
	return nil
}

// leadsInside reports whether a link in the directory dir leads into the grants by its target.
func (f *FS) leadsInside(dir, target string) bool {
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
	if f.mounts.holding(target) == nil {
		return false
	}
	p, err := f.resolve(target, walkMode{follow: true})
	if err == nil {
		out := p.bare()
		p.close()
		return !out
	}
	r, refused := errors.AsType[refusal](err)
	return !refused || r.errno != sys.EACCES
}

// mayBeAt says whether the link or directory p, which was at the path old, may be at the path moved, for the
// sake of links.
func (f *FS) mayBeAt(p *place, old, moved string) error {
	st, err := p.dir.Lstat(p.name)
	switch {
	case err != nil:
		return err
	case st.IsDir() && path.Dir(old) != path.Dir(moved):
		return f.judgeLinks(p.dir, p.name, old, moved)
	case !st.IsLink():
		return nil // the links in a directory that is renamed keep their depth, and what lies around them
	}
	target, err := p.dir.Readlink(p.name)
	if err == nil && !f.leadsInside(path.Dir(moved), target) {
		err = refusal{errno: sys.EACCES, why: fmt.Errorf("%w: %q", errLeadsOut, target)}
	}
	return err
}

// judgeLinks judges the links in the directory name of dir, which was or is at the path old and is or will
// be at the path moved.
func (f *FS) judgeLinks(dir *beneath.Dir, name, old, moved string) error {
	seen, size := 0, 0
	for pending := []string{""}; len(pending) > 0; {
		below := pending[len(pending)-1] // "" or "/a/b"
		pending = pending[:len(pending)-1]
		size -= len(below)
		err := f.eachEntry(dir, name+below, func(e beneath.Entry) error {
			if seen++; seen > maxMoved || size > maxPending {
				return refusal{errno: sys.EPERM, why: errMoveTooLarge}
			}
			if seen%chargeEach == 0 {
				f.charge(chargeEach)
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
			if f.leadsInside(path.Dir(moved+at), target) || path.IsAbs(target) || inside(old, path.Join(path.Dir(old+at), target)) {
				return nil
			}
			return refusal{errno: sys.EACCES, why: fmt.Errorf("%w: %s, by %q", errLeadsOut, moved+at, target)}
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
	defer func() { _ = file.Close() }() // it was only listed
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
