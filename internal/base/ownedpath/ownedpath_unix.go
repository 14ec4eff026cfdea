//go:build unix

package ownedpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

func checkDir(dir string) error { return check(dir, accountOf(os.Geteuid()), lastDir) }

func checkFile(path string, user int) error { return check(path, accountOf(user), lastFile) }

func checkEntry(path string) error { return check(path, accountOf(invoker()), lastEntry) }

// account is whom a path must belong to.
type account struct {
	user  int
	group int // of this process
}

func accountOf(user int) account { return account{user, os.Getegid()} }

// invoker returns the ID of the user who runs the host: the effective user or, as for Git, the one who used sudo.
func invoker() int {
	if user := os.Geteuid(); user != 0 {
		return user
	}
	if user, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && user > 0 {
		return user
	}
	return 0
}

// IsTrusted reports whether the user with the ID owner is root or runs the host. Windows has no such IDs.
func IsTrusted(owner int) bool { return owner == 0 || owner == os.Geteuid() || owner == invoker() }

func isPrivate(f *os.File) bool {
	info, err := f.Stat()
	if err != nil {
		return false
	}
	return ownerOf(info) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// maxLinks bounds the symbolic links of a path, as Linux does.
const maxLinks = 40

// check is Check for an account. last is the role of dir itself.
func check(dir string, who account, last role) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is not an absolute path", dir)
	}
	// Not cleaned: what ".." means depends on symbolic links. The first component is empty, and stands for the root directory.
	at, rest, links := "/", strings.Split(dir, "/"), 0
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
			role = last
		}
		if err := checkItem(dir, next, info, role, who); err != nil {
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
		rest = append(strings.Split(target, "/"), rest...)
	}
	return nil
}

// role is the place of a component in the path that is checked.
type role int

const (
	inner role = iota
	lastDir
	lastFile
	lastEntry // a file or a directory
)

// checkItem checks the directory, file or symbolic link at path, a component of dir that info describes.
func checkItem(dir, path string, info fs.FileInfo, role role, who account) error {
	user, owner, link, last := who.user, ownerOf(info), info.Mode()&fs.ModeSymlink != 0, role != inner
	fault := func(what, remedy string) error {
		return &Error{Dir: dir, At: path, Owner: owner, Mode: info.Mode().Perm(), What: what, Remedy: remedy}
	}
	switch {
	case owner != user && (owner != 0 || role == lastDir && !link):
		return fault(fmt.Sprintf("belongs to another user (user id %d, mode %04o)", owner, info.Mode().Perm()),
			remedyOfOwner(path, role, user))
	case link: // permissions of symbolic links have no effect
		return nil
	case role == lastFile && !info.Mode().IsRegular():
		return fault("is not a regular file", "use a different file")
	case role != lastFile && role != lastEntry && !info.IsDir():
		return fault("is not a directory", "use a different directory")
	}
	writers := info.Mode().Perm() & 0o022
	switch {
	case writers == 0, !last && info.Mode()&fs.ModeSticky != 0:
		return nil
	case writers == 0o020:
		// A volume of Kubernetes belongs to root and the group of fsGroup, whose ID is that of the user and of runAsGroup. Elsewhere a group of
		// other users may happen to have the user's ID, so it must be the process's own group.
		group := int(info.Sys().(*syscall.Stat_t).Gid)
		if (!last || role == lastEntry) && isPrivateGroup(group, owner) || !last && owner == 0 && isPrivateGroup(group, user) && group == who.group {
			return nil
		}
	}
	return fault(fmt.Sprintf("can be written by others (owner %d, mode %04o)", owner, info.Mode().Perm()), "chmod go-w "+path)
}

func remedyOfOwner(path string, role role, user int) string {
	remedy := fmt.Sprintf("chown %d %s", user, path)
	if role != lastFile && role != lastEntry && user != 0 {
		remedy += ", or use a directory of your own"
	}
	return remedy
}

// isPrivateGroup reports whether group is the user private group of owner: by convention it has the same ID. Systems
// with such groups create a user's directories writable for the group.
func isPrivateGroup(group, owner int) bool { return group == owner && owner != 0 }
