// Package store is the openspec folder on disk: where it is, what is in it, how files are read within
// bounds, and how several of them change together or not at all.
//
//	root, err := store.Find(store.Disk{}, cwd, top)
//	specs, err := root.Specs()
//
// It knows names and files, and nothing of what is in them. All it does to files goes through Files, so
// that a test can make any step fail.
package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// MaxFile bounds a file that is read, in bytes.
const MaxFile = 4 << 20

// Files is what the store does to files. Paths are absolute. Errors are those of package os.
type Files interface {
	Lstat(path string) (fs.FileInfo, error)
	Stat(path string) (fs.FileInfo, error)
	ReadDir(path string) ([]fs.DirEntry, error)
	// Read returns a regular file's content; more than limit bytes are an error.
	Read(path string, limit int64) ([]byte, error)
	Resolve(path string) (string, error) // as filepath.EvalSymlinks does
	// Create makes a file that must not exist, and returns when its content is on the disk. Where it fails
	// the file may be there with a part of it.
	Create(path string, content []byte, mode fs.FileMode) error
	Link(from, to string) error
	Rename(from, to string) error
	Mkdir(path string) error
	Remove(path string) error
}

// Disk is the file system of the process.
type Disk struct{}

var _ Files = Disk{}

// Lstat implements Files, as the methods below do.
func (Disk) Lstat(path string) (fs.FileInfo, error)     { return os.Lstat(path) }
func (Disk) Stat(path string) (fs.FileInfo, error)      { return os.Stat(path) }
func (Disk) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (Disk) Resolve(path string) (string, error)        { return filepath.EvalSymlinks(path) }
func (Disk) Link(from, to string) error                 { return os.Link(from, to) }
func (Disk) Rename(from, to string) error               { return os.Rename(from, to) }
func (Disk) Mkdir(path string) error                    { return os.Mkdir(path, 0o755) }
func (Disk) Remove(path string) error                   { return os.Remove(path) }

func (Disk) Read(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is no regular file")}
	}
	if info.Size() > limit {
		return nil, tooLarge(path, limit)
	}
	// The size is what it was a moment ago: somebody may go on writing.
	content := make([]byte, 0, info.Size()+1)
	for {
		n, err := file.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if int64(len(content)) > limit {
			return nil, tooLarge(path, limit)
		}
		if errors.Is(err, io.EOF) {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
	}
}

func tooLarge(path string, limit int64) error {
	return &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d KiB", limit>>10)}
}

func (Disk) Create(path string, content []byte, mode fs.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}
