//go:build linux || darwin

package vfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/experimental/sys"
	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// Bounds of one path resolution. POSIX systems have much the same.
const (
	maxPath  = 4096 // bytes of a path or a link's target
	maxLinks = 40   // links followed
	maxSteps = 1024 // components looked at, those of links' targets and of restarts included
)

// place is where a path leads once no link is left in it: a name in an open directory. What happens to
// a place goes through that directory, so one swapped meanwhile higher up changes nothing.
type place struct {
	path    string        // absolute, free of links
	mount   *mount        // nil: a bare directory
	dir     *beneath.Dir  // holds name; nil for a bare directory, and for a mount that is not there
	name    string        // one component; "." for the directory of a mount itself
	info    *beneath.Stat // of the thing itself, never of a link's target; nil: a bare directory, or nothing there
	dirOnly bool          // the path ended in a slash
	inGit   bool          // it is or lies in a git directory; known only of a place that is to be changed
	viaGit  bool          // a link called .git was followed
	owned   bool          // dir is closed with the place
}

func (p *place) close() {
	if p.owned {
		p.dir.Close()
	}
	p.dir, p.owned = nil, false
}

func (p *place) bare() bool { return p.mount == nil }

// exists reports an error for a place where there is nothing, or no directory where one was asked for.
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
	place place // where the walk is: path, mount and dir, the open directory of that path
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
	if w.place.bare() || w.place.dir == nil {
		return nil
	}
	w.place.name = "."
	st, err := w.place.dir.Stat()
	w.place.info = &st
	return err
}

// restart goes back to "/", and from there to the innermost mount on the way: its directory was opened when
// it was granted, and what lies above it has no say in where that is.
func (w *walk) restart() error {
	w.place.close()
	w.place.path, w.place.mount, w.place.inGit = "/", nil, false
	way := "/" + strings.Join(w.rest, "/")
	if i := slices.Index(w.rest, ".."); i >= 0 {
		way = "/" + strings.Join(w.rest[:i], "/")
	}
	m := w.fs.mounts.open(way)
	if m == nil {
		return nil
	}
	if m.Path != "/" {
		passed := strings.Count(m.Path, "/")
		w.steps += passed
		w.rest = w.rest[passed:]
	}
	_, err := w.enterMount(m)
	return err
}

// step takes one component. done is true once the place is complete.
func (w *walk) step(name string) (done bool, err error) {
	if name == ".." {
		if w.place.path == "/" {
			return false, nil
		}
		// The parent of a resolved path is a resolved path: walk there anew, since the open directory
		// may have another parent by now.
		w.rest = append(components(path.Dir(w.place.path)), w.rest...)
		return false, w.restart()
	}
	if w.place.bare() {
		return w.stepBare(path.Join(w.place.path, name))
	}
	return w.stepReal(name)
}

// stepBare goes down from a bare directory, which shows nothing but the ways to the mounts.
func (w *walk) stepBare(next string) (done bool, err error) {
	if m := w.fs.mounts.at(next); m != nil {
		return w.enterMount(m)
	}
	if w.fs.mounts.below(next) {
		w.place.path = next
		return false, nil
	}
	if w.links > 0 || (w.mode.write && len(w.rest) == 0) {
		return false, refusal{errno: sys.EACCES}
	}
	return false, refusal{errno: sys.ENOENT}
}

// enterMount goes on from the directory of a mount. Where that is not there yet, and this may be about to
// make it, the place is without one, and mayReplace allows nothing but Mkdir on it.
func (w *walk) enterMount(m *mount) (done bool, err error) {
	w.place.close()
	w.place.path, w.place.mount = m.Path, m
	w.place.inGit = m.InGit
	dir := m.dir()
	if dir == nil {
		if len(w.rest) > 0 || !w.mode.write {
			return false, sys.ENOENT
		}
		w.place.name = path.Base(m.Path)
		return true, nil
	}
	w.place.dir = dir
	w.noteGit()
	return false, nil
}

// stepReal goes down from an open directory of a mount.
func (w *walk) stepReal(name string) (done bool, err error) {
	next := path.Join(w.place.path, name)
	last := len(w.rest) == 0
	nested := w.fs.mounts.at(next)
	if nested == nil && w.fs.policy.hides(next) {
		return w.stepHidden(name, next)
	}
	if nested != nil && nested.dir() != nil {
		return w.enterMount(nested)
	}
	var info *beneath.Stat
	st, err := w.place.dir.Lstat(name)
	switch {
	case err == nil:
		info = &st
	case !errors.Is(err, fs.ErrNotExist) || !last:
		return false, err
	}
	switch {
	case info == nil:
	case info.IsLink() && nested != nil:
		return false, refusal{errno: sys.EACCES} // a grant is for a directory, not for what a link there shows
	case info.IsLink() && (!last || w.mode.follow):
		return false, w.followLink(name)
	case info.IsDir():
		if nested == nil && w.mode.write {
			// It keeps a second name for a directory that can only be read from being used with the access of
			// the mount around that name. Reading needs no such care: every mount can be read.
			nested = w.fs.mounts.aliased(info.FileID)
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
	w.noteGitAt()
	return true, nil
}

// stepHidden goes down to what the module is not to see. Where that leads to a mount it is a bare directory.
func (w *walk) stepHidden(name, next string) (done bool, err error) {
	switch {
	case w.fs.mounts.below(next):
		w.place.close()
		w.place.path, w.place.mount = next, nil
		return false, nil
	case len(w.rest) > 0 || !w.mode.write:
		return false, refusal{errno: sys.ENOENT}
	}
	w.place.path, w.place.name = next, name
	return true, nil // mayChange refuses it, without a word on whether it is there
}

// enter opens the directory that info was seen of, and goes on from there. What took its place in between
// is not judged, so the opened directory must be the one seen.
func (w *walk) enter(name, next string, info *beneath.Stat, nested *mount) error {
	dir, err := w.place.dir.OpenDir(name)
	if err != nil {
		if errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
			err = sys.ENOENT // it was a directory when it was looked at
		}
		return err
	}
	opened, err := dir.Stat()
	if err != nil || opened.FileID != info.FileID {
		dir.Close()
		if err == nil {
			err = sys.ENOENT
		}
		return err
	}
	w.place.close()
	w.place.dir, w.place.owned, w.place.path = dir, true, next
	if nested != nil {
		w.place.mount, w.place.path = nested, nested.Path
		w.place.inGit = w.place.inGit || nested.InGit
	}
	w.noteGit()
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
