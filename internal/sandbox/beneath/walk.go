package beneath

import (
	"strings"
	"syscall"
)

// Limits of the resolution of one name.
const (
	maxTarget = 4097 // bytes of a link's target, plus one to detect truncation
	maxLinks  = 40   // symbolic links followed
	maxSteps  = 8192 // components, including those of link targets and of restarts
)

// walk resolves a name component by component, where the kernel cannot resolve it atomically. Every component is opened
// with O_NOFOLLOW, so a directory that is replaced by a symbolic link after the check is an error and is not followed.
type walk struct {
	dir    *Dir
	follow bool     // whether a symbolic link as the last component is followed
	fd     int      // descriptor of the directory reached
	done   []string // path of that directory, without symbolic links
	rest   []string // remaining components
	steps  int
	links  int
}

func newWalk(d *Dir, name string, follow bool) *walk {
	return &walk{dir: d, follow: follow, fd: d.fd, rest: strings.Split(name, "/")}
}

func (w *walk) close() {
	if w.fd != w.dir.fd {
		closeFD(w.fd)
	}
	w.fd = w.dir.fd
}

// walk opens the file at name.
func (d *Dir) walk(name string, flag int, perm uint32, follow bool) (int, error) {
	w := newWalk(d, name, follow)
	defer w.close()
	for {
		leaf, err := w.toLeaf()
		if err != nil {
			return -1, err
		}
		fd, err := openat(w.fd, leaf, flag|noFollow, perm)
		// The last component was replaced by a symbolic link after the check: resolve the link.
		if err == syscall.ELOOP && follow && leaf != "." {
			w.rest = append(w.rest, leaf)
			continue
		}
		return fd, err
	}
}

// toLeaf walks to the parent of the last component, and returns the last component. It resolves the symbolic links that
// are to be followed.
func (w *walk) toLeaf() (string, error) {
	for len(w.rest) > 0 {
		if w.steps++; w.steps > maxSteps {
			return "", syscall.ENAMETOOLONG
		}
		name := w.rest[0]
		w.rest = w.rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if err := w.up(); err != nil {
				return "", err
			}
			continue
		}
		leaf, err := w.step(name)
		if leaf || err != nil {
			return name, err
		}
	}
	return ".", nil
}

// step descends one component. If the component is the last one, it is not entered and leaf is true.
func (w *walk) step(name string) (leaf bool, err error) {
	last := len(w.rest) == 0
	if last && !w.follow {
		return true, nil
	}
	st, err := fstatat(w.fd, name)
	switch {
	case err == syscall.ENOENT && last:
		return true, nil
	case err != nil:
		return false, err
	case st.IsLink():
		return false, w.link(name)
	case last:
		return true, nil
	}
	fd, err := openat(w.fd, name, openDirFlags|noFollow, 0)
	if err != nil {
		return false, err
	}
	w.close()
	w.fd, w.done = fd, append(w.done, name)
	return false, nil
}

// up restarts the walk to the parent. It does not open "..": the open directory may have been moved, so that its ".." is
// outside of the root.
func (w *walk) up() error {
	if len(w.done) == 0 {
		return ErrEscapes
	}
	w.rest = append(append([]string{}, w.done[:len(w.done)-1]...), w.rest...)
	w.close()
	w.done = nil
	return nil
}

func (w *walk) link(name string) error {
	if w.links++; w.links > maxLinks || !w.dir.follow {
		return syscall.ELOOP
	}
	target, err := readlinkat(w.fd, name)
	switch {
	case err != nil:
		return err
	case target == "":
		return syscall.ENOENT
	case target[0] == '/':
		return ErrEscapes
	}
	w.rest = append(strings.Split(target, "/"), w.rest...)
	return nil
}
