package vfs

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Limits of one path resolution, similar to those of POSIX systems.
const (
	maxPath  = 4096 // bytes of a path or a link's target
	maxLinks = 40   // symbolic links followed
	maxSteps = 1024 // components, including those of link targets and of restarts
)

// MountOf returns the path of the mount that contains a file, which may be absent; "" if there is none.
func (f *FS) MountOf(name string) string {
	p, err := f.resolve(name, walkMode{follow: true})
	if err != nil {
		return ""
	}
	defer p.close()
	if p.isVirtual() {
		return ""
	}
	return p.mount.Path
}

// place is a resolved path: a name in an open directory. Operations on a place go through that directory, so replacing
// one of its ancestors after the check has no effect.
type place struct {
	path    string        // absolute, without symbolic links
	mount   *mount        // nil for a virtual directory above the mounts
	dir     *beneath.Dir  // contains name; nil for a virtual directory and for an absent mount
	name    string        // one component; "." for the directory of a mount
	info    *beneath.Stat // describes name itself, not a link's target; nil for a virtual directory and an absent file
	dirOnly bool          // the path ended in a slash
	inGit   bool          // the place is, or is in, a git directory; only computed for a change
	viaGit  bool          // a symbolic link called .git was followed
	owned   bool          // closing the place closes dir
}

func (p *place) close() {
	if p.owned {
		p.dir.Close()
	}
	p.dir, p.owned = nil, false
}

func (p *place) isVirtual() bool { return p.mount == nil }

// checkExists fails if p is absent, or if its path ended in a slash and it is not a directory.
func (p *place) checkExists() error {
	switch {
	case p.isVirtual():
		return nil
	case p.info == nil:
		return sys.ENOENT
	case p.dirOnly && !p.info.IsDir():
		return sys.ENOTDIR
	}
	return nil
}

// split validates a path and splits it into components, without empty ones and ".".
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

// walkMode is the purpose of a walk.
type walkMode struct {
	follow bool // follow a symbolic link in the last component
	write  bool // the file is to be changed
}

// walk is the state of a resolution.
type walk struct {
	fs    *FS
	mode  walkMode
	rest  []string // remaining components
	steps int
	links int
	next  string // path of the component that was resolved last, or could not be
	place place  // the place that the walk has reached
}

// resolve resolves a path to a place, which the caller must close. The last component need not exist.
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
	if p := &w.place; p.info != nil && p.mount != nil && p.path != "/" { // which wazero opens for each instance
		f.config.Reading(p.mount.Path)
	}
	return &w.place, nil
}

func (w *walk) run() error {
	w.restart()
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
	if w.place.isVirtual() || w.place.dir == nil {
		return nil
	}
	w.place.name = "."
	st, err := w.place.dir.Stat()
	w.place.info = &st
	return err
}

// restart continues from the innermost mount on the lexical path of the remaining components. The mount's directory was opened when
// it was granted, so its ancestors, which may have been replaced since, are not resolved again.
func (w *walk) restart() {
	w.place.close()
	w.place.path, w.place.mount, w.place.inGit = "/", nil, false
	lexical := "/" + strings.Join(w.rest, "/")
	if i := slices.Index(w.rest, ".."); i >= 0 {
		lexical = "/" + strings.Join(w.rest[:i], "/")
	}
	m := w.fs.config.Mounts.open(lexical)
	if m == nil {
		return
	}
	if m.Path != "/" {
		depth := strings.Count(m.Path, "/")
		w.steps += depth
		w.rest = w.rest[depth:]
	}
	_, _ = w.enterMount(m) // which fails for an absent mount only
}

// step resolves one component. done reports that the walk has ended: w.place is the result.
func (w *walk) step(name string) (done bool, err error) {
	if name == ".." {
		// The parent of a resolved path is resolved; that of "/" is "/". Walk to it from the mount: the open directory may have been
		// moved, and its ".." may be outside of the grant.
		w.rest = append(components(path.Dir(w.place.path)), w.rest...)
		w.restart()
		return false, nil
	}
	w.next = path.Join(w.place.path, name)
	if w.place.isVirtual() {
		return w.stepVirtual(w.next)
	}
	return w.stepReal(name, w.next)
}

// stepVirtual descends from a virtual directory, which contains only the ancestors of mounts.
func (w *walk) stepVirtual(next string) (done bool, err error) {
	if m := w.fs.config.Mounts.atAlias(next); m != nil {
		return w.enterMount(m)
	}
	if w.fs.config.Mounts.hasBelow(next) {
		w.place.path = next
		return false, nil
	}
	// A symbolic link that leaves the grants is refused, as is a new entry outside of them; nothing else exists there.
	if w.links > 0 || (w.mode.write && len(w.rest) == 0) {
		return false, refusal{errno: sys.EACCES}
	}
	return false, refusal{errno: sys.ENOENT}
}

// enterMount continues from the directory of a mount. If the directory is absent but may be created by this operation,
// the place has no directory; mayReplace then refuses all operations except Mkdir.
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
	w.detectGit()
	return false, nil
}

// stepReal descends from an open directory of a mount.
func (w *walk) stepReal(name, next string) (done bool, err error) {
	last := len(w.rest) == 0
	nested := w.fs.config.Mounts.at(next)
	if nested == nil && w.fs.isHidden(next) {
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
		return false, refusal{errno: sys.EACCES} // the grant is for a directory, not for the target of a symbolic link in its place
	case info.IsLink() && (!last || w.mode.follow):
		return false, w.followLink(name)
	case info.IsDir():
		if nested == nil && w.mode.write {
			// An alias of a read-only mount in a writable one (by a bind mount or a case-insensitive name) must not be
			// writable. Reading needs no such check: every mount is readable.
			nested = w.fs.config.Mounts.aliased(info.FileID)
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
	w.detectGitAt()
	return true, nil
}

// stepHidden descends to a hidden path. An ancestor of a mount becomes a virtual directory.
func (w *walk) stepHidden(name, next string) (done bool, err error) {
	if m := w.fs.config.Mounts.aliases[next]; m != nil {
		return w.enterMount(m)
	}
	switch {
	case w.fs.config.Mounts.hasBelow(next):
		w.place.close()
		w.place.path, w.place.mount = next, nil
		return false, nil
	case len(w.rest) > 0 || !w.mode.write:
		return false, refusal{errno: sys.ENOENT}
	}
	w.place.path, w.place.name = next, name
	return true, nil // mayChange refuses the change, and does not disclose whether the file exists
}

// enter opens the directory that info describes and continues from it. A directory that has replaced it since then has
// not been checked (it may be an alias of a read-only mount), so the opened directory must have the same identity.
func (w *walk) enter(name, next string, info *beneath.Stat, nested *mount) error {
	dir, err := w.place.dir.OpenDir(name)
	if err != nil {
		if errors.Is(err, beneath.ErrNotDir) || errors.Is(err, syscall.ELOOP) {
			err = sys.ENOENT // the directory was replaced after the check
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
	w.detectGit()
	return nil
}

// followLink prepends a link's target to the remaining components. Paths in the tree are those of the host, so an
// absolute target is resolved from the tree's root.
func (w *walk) followLink(name string) error {
	if w.links++; w.links > maxLinks {
		return sys.ELOOP
	}
	target, err := w.place.dir.Readlink(name)
	if err != nil {
		return err
	}
	w.fs.config.Reading(w.place.mount.Path)
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
		w.restart()
	}
	return nil
}
