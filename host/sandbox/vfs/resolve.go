//go:build linux || darwin

package vfs

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// Bounds of one path resolution. POSIX systems have much the same.
const (
	maxPath  = 4096 // bytes of a path or a link's target
	maxLinks = 40   // links followed
	maxSteps = 1024 // components looked at, those of links' targets and of restarts included
)

// place is where a path leads once no link is left in it: a name in an open folder. What happens to
// a place goes through that folder, so a folder swapped meanwhile higher up changes nothing.
type place struct {
	path    string      // absolute, free of links
	mount   *Mount      // nil: a bare folder
	dir     *os.Root    // holds name; nil for a bare folder
	name    string      // one component; "." for the folder of a mount itself
	info    fs.FileInfo // of the thing itself, never of a link's target; nil: a bare folder, or nothing there
	dirOnly bool        // the path ended in a slash
	viaGit  bool        // a link called .git was followed
}

func (p *place) close() {
	if p.dir != nil {
		_ = p.dir.Close() // it was only read through
	}
}

func (p *place) bare() bool { return p.mount == nil }

// exists reports an error for a place where there is nothing, or no folder where one was asked for.
func (p *place) exists() error {
	switch {
	case p.bare():
		return nil
	case p.info == nil:
		return sys.ENOENT
	case p.dirOnly && !p.info.IsDir():
		return sys.ENOTDIR
	}
	return nil
}

// split checks a path and cuts it into components, without the empty ones and ".".
func split(name string) (parts []string, dirOnly bool, err error) {
	switch {
	case name == "" || strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return nil, false, sys.EINVAL
	case len(name) > maxPath:
		return nil, false, sys.ENAMETOOLONG
	}
	parts = components(name)
	return parts, strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/."), nil
}

func components(name string) []string {
	parts := make([]string, 0, strings.Count(name, "/")+1)
	for part := range strings.SplitSeq(name, "/") {
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	return parts
}

// How a walk treats the last component, and what it is for.
type walkMode struct {
	follow bool // follow a link in the last component
	write  bool // the place is to be changed
}

// walk is one resolution under way.
type walk struct {
	fs    *FS
	mode  walkMode
	rest  []string // components to come
	steps int
	links int

	place place          // where the walk is: path, mount and dir, the open folder of that path
	ids   []rootIdentity // lazily, for walks that are to change something
}

// resolve leads a path to its place, which the caller closes. The last component need not exist.
func (f *FS) resolve(name string, mode walkMode) (*place, error) {
	parts, dirOnly, err := split(name)
	if err != nil {
		return nil, err
	}
	w := &walk{fs: f, mode: mode, rest: parts}
	w.place.path, w.place.dirOnly = "/", dirOnly
	if err := w.run(); err != nil {
		w.place.close()
		return nil, err
	}
	return &w.place, nil
}

func (w *walk) run() error {
	if err := w.restart(); err != nil {
		return err
	}
	for len(w.rest) > 0 {
		if w.steps++; w.steps > maxSteps {
			return sys.ENAMETOOLONG
		}
		name := w.rest[0]
		w.rest = w.rest[1:]
		done, err := w.step(name)
		if done || err != nil {
			return err
		}
	}
	if w.place.bare() {
		return nil
	}
	w.place.name = "."
	info, err := w.place.dir.Stat(".")
	w.place.info = info
	return err
}

// restart goes back to "/".
func (w *walk) restart() error {
	w.place.close()
	w.place.path, w.place.mount, w.place.dir = "/", nil, nil
	if m := w.fs.mounts.at("/"); m != nil {
		_, err := w.enterTop(m)
		return err
	}
	return nil
}

// step takes one component. done is true once the place is complete.
func (w *walk) step(name string) (done bool, err error) {
	if name == ".." {
		if w.place.path == "/" {
			return false, nil
		}
		// The parent of a resolved path is a resolved path: walk there anew, since the open folder
		// may have another parent by now.
		w.rest = append(components(path.Dir(w.place.path)), w.rest...)
		return false, w.restart()
	}
	if w.place.bare() {
		return w.stepBare(path.Join(w.place.path, name))
	}
	return w.stepReal(name)
}

// stepBare goes down from a bare folder, which shows nothing but the ways to the mounts.
func (w *walk) stepBare(next string) (done bool, err error) {
	if m := w.fs.mounts.at(next); m != nil {
		return w.enterTop(m)
	}
	if w.fs.mounts.below(next) {
		w.place.path = next
		return false, nil
	}
	if w.links > 0 || (w.mode.write && len(w.rest) == 0) {
		return false, refusal{sys.EACCES}
	}
	return false, refusal{sys.ENOENT}
}

// enterTop opens a mount that lies in no other. The trailing dot makes sure that only a folder is
// opened: a FIFO in its place would block.
func (w *walk) enterTop(m *Mount) (done bool, err error) {
	w.place.path, w.place.mount = m.Path, m
	w.place.dir, err = os.OpenRoot(m.Path + "/.")
	if !errors.Is(err, fs.ErrNotExist) || len(w.rest) > 0 || !w.mode.write {
		return false, err
	}
	// The folder is not there yet, and this may be about to make it: the place is its name in the
	// host's folder, and mayReplace allows nothing but Mkdir on it.
	w.place.name = path.Base(m.Path)
	w.place.dir, err = os.OpenRoot(path.Dir(m.Path) + "/.")
	return true, err
}

// stepReal goes down from an open folder of a mount.
func (w *walk) stepReal(name string) (done bool, err error) {
	next := path.Join(w.place.path, name)
	last := len(w.rest) == 0
	nested := w.fs.mounts.at(next)
	if w.fs.policy.hides(next) {
		if !last || !w.mode.write {
			return false, refusal{sys.ENOENT}
		}
		w.place.path, w.place.name = next, name
		return true, nil // mayChange refuses it, without a word on whether it is there
	}
	info, err := w.place.dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && last:
		info = nil
	case err != nil:
		return false, err
	case info.Mode()&fs.ModeSymlink != 0 && nested != nil:
		return false, refusal{sys.EACCES} // a grant is for a folder, not for what a link there shows
	case info.Mode()&fs.ModeSymlink != 0 && (!last || w.mode.follow):
		return false, w.followLink(name)
	case info.IsDir():
		if nested == nil {
			nested = w.aliased(info)
		}
		if nested != nil || !last {
			return false, w.enter(name, next, info, nested)
		}
	case !last:
		return false, sys.ENOTDIR
	}
	w.place.path, w.place.name, w.place.info = next, name, info
	if nested != nil {
		w.place.mount = nested
	}
	return true, nil
}

// aliased is the read-only mount whose folder info is, by identity; nil: none. It keeps a second name
// for such a folder from being used with the access of the mount around that name. Reading needs no
// such care: every mount can be read.
func (w *walk) aliased(info fs.FileInfo) *Mount {
	if !w.mode.write || len(w.fs.mounts) < 2 {
		return nil
	}
	if w.ids == nil {
		w.ids = w.fs.mounts.readOnly()
	}
	for _, id := range w.ids {
		if os.SameFile(id.info, info) {
			return id.mount
		}
	}
	return nil
}

// enter opens the folder that info was seen of, and goes on from there. os.Root would follow a link
// that took the folder's place in between, so the opened folder must be the one seen.
func (w *walk) enter(name, next string, info fs.FileInfo, nested *Mount) error {
	dir, err := w.place.dir.OpenRoot(name + "/.")
	if err != nil {
		return err
	}
	opened, err := dir.Stat(".")
	if err != nil || !os.SameFile(opened, info) {
		_ = dir.Close()
		if err == nil {
			err = sys.ENOENT
		}
		return err
	}
	_ = w.place.dir.Close()
	w.place.dir, w.place.path = dir, next
	if nested != nil {
		w.place.mount, w.place.path = nested, nested.Path
	}
	return nil
}

// followLink puts a link's target before the rest of the way. Paths in the tree are the host's, so an
// absolute target starts at "/" of the tree.
func (w *walk) followLink(name string) error {
	if w.links++; w.links > maxLinks {
		return sys.ELOOP
	}
	target, err := w.place.dir.Readlink(name)
	if err != nil {
		return err
	}
	parts, dirOnly, err := split(target)
	if err != nil {
		return err
	}
	if len(w.rest) == 0 && dirOnly {
		w.place.dirOnly = true
	}
	w.place.viaGit = w.place.viaGit || isGit(name)
	w.rest = append(parts, w.rest...)
	if path.IsAbs(target) {
		return w.restart()
	}
	return nil
}
