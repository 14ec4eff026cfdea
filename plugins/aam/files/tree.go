package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// The maximum depth and the maximum number of entries of a tree that is copied or removed. Symbolic links can make a
// tree cyclic.
const (
	maxDepth  = 100
	maxCopied = 20_000
)

// RemoveAll removes the file or directory at path recursively. It does not follow symbolic links. If path does not
// exist, it returns nil.
func RemoveAll(s System, path string) error { return removeAll(s, path, 0) }

func removeAll(s System, path string, depth int) error {
	info, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		if depth == maxDepth {
			return fmt.Errorf("%s: directories are nested more than %d levels deep", path, maxDepth)
		}
		entries, err := s.ReadDir(path)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if err := removeAll(s, filepath.Join(path, entry.Name()), depth+1); err != nil {
				return err
			}
		}
	}
	if err := s.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// CopyFile copies a regular file to the path "to", which must not exist. The copy has the permission bits of the file.
func CopyFile(s System, from, to string) error {
	in, err := OpenRegular(s, from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := s.Create(to, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = s.CopyMode(from, to)
	}
	if err == nil {
		err = out.Sync()
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	return err
}

// CopyTree copies the directory or file at "from" to the path "to", which must not exist. The path "from" must be inside of
// root. CopyTree follows symbolic links; a link that resolves to a path outside of root is an error.
func CopyTree(s System, root, from, to string) error {
	c := copier{system: s, root: root, left: maxCopied}
	return c.copy(from, to, 0)
}

type copier struct {
	system System
	root   string
	left   int // number of entries that may still be copied
}

func (c *copier) copy(from, to string, depth int) error {
	if c.left--; depth == maxDepth || c.left < 0 {
		return fmt.Errorf("%s: directories are nested more than %d levels deep, or there are more than %d files", from, maxDepth, maxCopied)
	}
	real, err := Inside(c.system, c.root, from)
	if err != nil {
		return err
	}
	info, err := c.system.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return CopyFile(c.system, real, to)
	}
	if err := c.system.Mkdir(to, 0o755); err != nil {
		return err
	}
	entries, err := c.system.ReadDir(real)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := c.copy(filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}
