// Package ownedpath checks that only the user and root can modify the content of a directory or file, or replace it. Start with Check,
// or Make for a directory to create; CheckState is for the host's state directory. The package changes no permissions.
package ownedpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Error reports that other users can modify or replace a directory or file.
type Error struct {
	Dir    string      // the directory or file that was checked
	At     string      // the directory or symbolic link that is not safe: Dir or a component of its path
	Owner  int         // user ID of the owner of At
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
// after creating dir, because in a directory with the sticky bit, such as /tmp, another user can create dir first.
//
// Check covers access control lists. On Unix, the permissions of the group contain the mask of the list. On Windows, Check
// reads the list, and treats Administrators and the system like root.
func Check(dir string) error { return checkDir(dir) }

// CheckFile is Check for a regular file, and for the user with the ID user in place of the effective user. Unlike a
// directory that is created for the user, the file may belong to root. On Windows, which has no such IDs, user is ignored.
func CheckFile(path string, user int) error { return checkFile(path, user) }

// CheckEntry is Check for an existing file or directory, which may also belong to root or, if that user runs the host with sudo, to the
// user who did. It must not be writable by others even if it has the sticky bit, with which others can still create entries.
func CheckEntry(path string) error { return checkEntry(path) }

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

// Explain formats err with its remedy if it is an *Error or a *NewerError.
func Explain(err error) string {
	if fault := (*Error)(nil); errors.As(err, &fault) {
		return fmt.Sprintf("%v: %s", err, fault.Remedy)
	}
	if newer := (*NewerError)(nil); errors.As(err, &newer) {
		return newer.Error() + ": " + newer.Remedy()
	}
	return err.Error()
}

// NotPrivate says of a path why a file for which IsPrivate is false is not used.
const NotPrivate = "belongs to another user, or others can write it"

// IsPrivate reports whether an open file belongs to the user, and no other user can write it.
func IsPrivate(f *os.File) bool { return isPrivate(f) }
