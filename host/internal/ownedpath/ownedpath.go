// Package ownedpath checks that a directory is the user's own: that nobody but the user and root can change
// what is in it, or put another directory in its place.
package ownedpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Error says which directory is not the user's own, and what to do about it.
type Error struct {
	Dir    string      // the directory that was checked
	At     string      // the directory or symbolic link at fault: Dir, or one on the way to it
	Owner  int         // user id
	Mode   fs.FileMode // permissions of At
	What   string      // what is wrong with At, as a predicate
	Remedy string
}

func (e *Error) Error() string {
	if e.At == e.Dir {
		return fmt.Sprintf("%s %s", e.Dir, e.What)
	}
	return fmt.Sprintf("%s cannot be trusted: %s %s", e.Dir, e.At, e.What)
}

// Check refuses dir if another user owns it or can write to it, and if another user can replace it or one of
// its ancestors; root may do all of that. Symbolic links are resolved, and whoever can replace one counts too.
// What does not exist is no fault: whoever makes it afterwards has to check it again, since a directory with
// the sticky bit, such as /tmp, lets another user make it first.
//
// Access control lists need no look of their own: their mask shows in the permissions of the group.
func Check(dir string) error { return check(dir, os.Geteuid()) }

// Make is Check for a directory that is made if it does not exist.
func Make(dir string) error {
	if err := Check(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Check(dir)
}

// Explain is the text of err and, where it is an *Error, its remedy.
func Explain(err error) string {
	if fault := (*Error)(nil); errors.As(err, &fault) {
		return fmt.Sprintf("%v: %s", err, fault.Remedy)
	}
	return err.Error()
}

// maxLinks bounds the symbolic links on the way, as the system does.
const maxLinks = 40

// check is Check for the user with that id.
func check(dir string, user int) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is not an absolute path", dir)
	}
	at, rest, links := "/", names(dir), 0
	if err := checkItem(dir, at, false, user); err != nil {
		return err
	}
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at) // of a resolved path, so its parent, and checked already
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("%s cannot be checked: %w", dir, err)
		}
		if err := checkItem(dir, next, len(rest) == 0, user); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return fmt.Errorf("%s cannot be checked: too many symbolic links", dir)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return fmt.Errorf("%s cannot be checked: %w", dir, err)
		}
		if filepath.IsAbs(target) {
			at = "/"
		}
		rest = append(names(target), rest...)
	}
	return nil
}

// names are the components of a path. Unlike filepath.Clean it keeps "..", whose meaning depends on links.
func names(path string) []string {
	var list []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			list = append(list, name)
		}
	}
	return list
}

// checkItem checks one directory or symbolic link; last is set for dir itself.
func checkItem(dir, path string, last bool, user int) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%s cannot be checked: %w", dir, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s cannot be checked: the system does not say who owns %s", dir, path)
	}
	fault := func(what, remedy string) error {
		return &Error{Dir: dir, At: path, Owner: int(stat.Uid), Mode: info.Mode().Perm(), What: what, Remedy: remedy}
	}
	owner, link := int(stat.Uid), info.Mode()&fs.ModeSymlink != 0
	switch {
	case owner != user && (owner != 0 || last && !link):
		return fault(fmt.Sprintf("belongs to another user (user id %d, mode %04o)", owner, info.Mode().Perm()),
			fmt.Sprintf("chown %d %s, or use a directory of your own", user, path))
	case link: // its permissions mean nothing
		return nil
	case !info.IsDir():
		return fault("is not a directory", "use another directory")
	}
	writers := info.Mode().Perm() & 0o022
	switch {
	case writers == 0, !last && info.Mode()&fs.ModeSticky != 0, !last && writers == 0o020 && isPrivateGroup(int(stat.Gid), owner):
		return nil
	}
	return fault(fmt.Sprintf("can be written by others (owner %d, mode %04o)", owner, info.Mode().Perm()), "chmod go-w "+path)
}

// isPrivateGroup reports whether a group is its owner's alone by the convention of user private groups, by which
// user and group have one number. Systems that follow it make a user's directories writable to the group.
func isPrivateGroup(group, owner int) bool { return group == owner && owner != 0 }
