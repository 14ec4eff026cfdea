// Package ownedpath checks that only the user and root can modify the content of a directory or file, or replace it.
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

// Error reports that other users can modify or replace a directory or file.
type Error struct {
	Dir    string      // the directory or file that was checked
	At     string      // the directory or symbolic link that is not safe: Dir or a component of its path
	Owner  int         // user id
	Mode   fs.FileMode // permissions of At
	What   string      // what is wrong with At, as the rest of a sentence that begins with At
	Remedy string
}

func (e *Error) Error() string {
	if e.At == e.Dir {
		return fmt.Sprintf("%s %s", e.Dir, e.What)
	}
	return fmt.Sprintf("%s cannot be trusted: %s %s", e.Dir, e.At, e.What)
}

// Check returns an error if a user other than the effective user and root owns dir, can write to it, or can replace it,
// one of its ancestors or a symbolic link on its path. It accepts a path that does not exist. The caller must check again
// after creating it, because in a directory with the sticky bit, such as /tmp, another user can create it first.
//
// Access control lists are covered, because their mask is reflected in the permissions of the group.
func Check(dir string) error { return check(dir, os.Geteuid(), false) }

// CheckFile is Check for a regular file, and for the user with the ID user in place of the effective user. Unlike a
// directory that is created for the user, the file may belong to root.
func CheckFile(path string, user int) error { return check(path, user, true) }

// Make creates dir if it does not exist, and checks it.
func Make(dir string) error {
	if err := Check(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Check(dir)
}

// Explain formats err with its remedy if it is an *Error.
func Explain(err error) string {
	if fault := (*Error)(nil); errors.As(err, &fault) {
		return fmt.Sprintf("%v: %s", err, fault.Remedy)
	}
	return err.Error()
}

// maxLinks bounds the symbolic links of a path, as Linux does.
const maxLinks = 40

// check is Check for the user with the ID user. If file is set, dir is the path of a file.
func check(dir string, user int, file bool) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is not an absolute path", dir)
	}
	at, rest, links := "/", components(dir), 0
	if err := checkItem(dir, at, inner, user); err != nil {
		return err
	}
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at) // the path in at is resolved, and its ancestors are checked
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
		role := inner
		if len(rest) == 0 {
			role = lastDir
			if file {
				role = lastFile
			}
		}
		if err := checkItem(dir, next, role, user); err != nil {
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
		rest = append(components(target), rest...)
	}
	return nil
}

// components splits a path. Unlike filepath.Clean it keeps "..", whose target depends on symbolic links.
func components(path string) []string {
	var list []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			list = append(list, name)
		}
	}
	return list
}

// role is the place of a component in the path that is checked.
type role int

const (
	inner role = iota
	lastDir
	lastFile
)

// checkItem checks the directory, file or symbolic link at path, a component of dir.
func checkItem(dir, path string, role role, user int) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("%s cannot be checked: %w", dir, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s cannot be checked: the system does not report the owner of %s", dir, path)
	}
	fault := func(what, remedy string) error {
		return &Error{Dir: dir, At: path, Owner: int(stat.Uid), Mode: info.Mode().Perm(), What: what, Remedy: remedy}
	}
	owner, link, last := int(stat.Uid), info.Mode()&fs.ModeSymlink != 0, role != inner
	switch {
	case owner != user && (owner != 0 || role == lastDir && !link):
		return fault(fmt.Sprintf("belongs to another user (user id %d, mode %04o)", owner, info.Mode().Perm()),
			remedyOfOwner(path, role, user))
	case link: // permissions of symbolic links have no effect
		return nil
	case role == lastFile && !info.Mode().IsRegular():
		return fault("is not a regular file", "use a different file")
	case role != lastFile && !info.IsDir():
		return fault("is not a directory", "use a different directory")
	}
	writers := info.Mode().Perm() & 0o022
	switch {
	case writers == 0, !last && info.Mode()&fs.ModeSticky != 0, !last && writers == 0o020 && isPrivateGroup(int(stat.Gid), owner):
		return nil
	}
	return fault(fmt.Sprintf("can be written by others (owner %d, mode %04o)", owner, info.Mode().Perm()), "chmod go-w "+path)
}

func remedyOfOwner(path string, role role, user int) string {
	remedy := fmt.Sprintf("chown %d %s", user, path)
	if role != lastFile && user != 0 {
		remedy += ", or use a directory of your own"
	}
	return remedy
}

// isPrivateGroup reports whether group is the user private group of owner: by convention it has the same ID. Systems
// with such groups create a user's directories writable for the group.
func isPrivateGroup(group, owner int) bool { return group == owner && owner != 0 }
