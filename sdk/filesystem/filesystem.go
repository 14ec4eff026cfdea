// Package filesystem is the file access that the packages atomicfile, contain and transaction share. FS has the operations that they need, OS
// implements these on the operating system, and ReadFile reads a regular file of bounded size. Start with OS{} and ReadFile.
//
// A test replaces OS with package faultfs, in which chosen operations fail. The package also works in a WASI module.
//
// Stability: additions only within a major version. FS may get further methods: implement it by embedding OS.
package filesystem

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// FS is a file system. Paths are absolute. Errors are those that package os returns: they match fs.ErrNotExist, fs.ErrExist and
// fs.ErrPermission.
type FS interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	Readlink(path string) (string, error)
	// ReadDir returns the entries sorted by name.
	ReadDir(path string) ([]fs.DirEntry, error)
	Open(path string) (io.ReadCloser, error)
	// Create creates a file for writing. It fails with fs.ErrExist if the path exists.
	Create(path string, mode fs.FileMode) (File, error)
	Mkdir(path string, mode fs.FileMode) error
	// Link creates the hard link at the path to, for the file at the path from. It fails with fs.ErrExist if the path to exists.
	Link(from, to string) error
	// Symlink creates a symbolic link with the given target. It fails with fs.ErrExist if the path exists.
	Symlink(target, path string) error
	Rename(from, to string) error
	// Remove removes a file, a symbolic link or an empty directory.
	Remove(path string) error
	// CopyMode gives the file at the path to the permission bits of the file at the path from.
	CopyMode(from, to string) error
	// SyncDir makes the entries of a directory durable: they survive a loss of power.
	SyncDir(path string) error
	// CheckWritable returns an error if this process may not change the entries of a directory. It does not change the directory.
	CheckWritable(dir string) error
}

// File is a file that Create has created.
type File interface {
	io.Writer
	// Sync makes the content durable.
	Sync() error
	Close() error
}

// OS is the file system of the process. The zero value is ready to use.
type OS struct {
	// Modes implements CopyMode; if it is nil, os.Stat and os.Chmod do. A WASI module has no permission bits of its own, and asks its host for
	// them.
	Modes func(from, to string) error
}

var _ FS = OS{}

// Lstat calls os.Lstat.
func (OS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Stat calls os.Stat.
func (OS) Stat(path string) (fs.FileInfo, error) { return os.Stat(path) }

// Readlink calls os.Readlink.
func (OS) Readlink(path string) (string, error) { return os.Readlink(path) }

// ReadDir calls os.ReadDir.
func (OS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

// Open opens a file for reading, as os.Open does.
func (OS) Open(path string) (io.ReadCloser, error) { return open(path) }

// Create implements FS.
func (OS) Create(path string, mode fs.FileMode) (File, error) { return create(path, mode) }

// Mkdir calls os.Mkdir.
func (OS) Mkdir(path string, mode fs.FileMode) error { return os.Mkdir(path, mode) }

// Link calls os.Link.
func (OS) Link(from, to string) error { return os.Link(from, to) }

// Symlink calls os.Symlink.
func (OS) Symlink(target, path string) error { return os.Symlink(target, path) }

// Rename calls os.Rename.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove removes a file, a symbolic link or an empty directory, as os.Remove does.
func (OS) Remove(path string) error { return remove(path) }

// CopyMode implements FS.
func (o OS) CopyMode(from, to string) error {
	if o.Modes != nil {
		return o.Modes(from, to)
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.Chmod(to, info.Mode().Perm())
}

// SyncDir implements FS. If the directory cannot be opened, or the file system cannot sync directories, SyncDir returns no error, since the
// caller could do nothing more.
func (OS) SyncDir(path string) error {
	dir, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	err = dir.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) || errors.Is(err, fs.ErrPermission) { // Windows returns fs.ErrPermission
		err = nil
	}
	return errors.Join(err, dir.Close())
}

// CheckWritable implements FS. It sets the times of the directory to their current values, which a sandbox refuses unless the directory is
// granted for writing.
func (OS) CheckWritable(dir string) error { return os.Chtimes(dir, time.Time{}, time.Time{}) }
