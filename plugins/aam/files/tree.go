package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// The maximum depth of a tree that is visited or copied, and the maximum number of entries of a tree that is copied.
// Symbolic links, which only a copy follows, can make a tree cyclic.
const (
	maxDepth  = 100
	maxCopied = 20_000
)

// Walk calls visit for the file or directory at path and, before that, for everything below a directory. It does not
// follow symbolic links.
func Walk(s System, path string, visit func(path string, isDir bool) error) error {
	info, err := s.Lstat(path)
	if err != nil {
		return err
	}
	return walk(s, path, info.IsDir(), 0, visit)
}

func walk(s System, path string, isDir bool, depth int, visit func(path string, isDir bool) error) error {
	if !isDir {
		return visit(path, false)
	}
	if depth == maxDepth {
		return fmt.Errorf("%s: directories are nested more than %d levels deep", path, maxDepth)
	}
	entries, err := s.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := walk(s, filepath.Join(path, entry.Name()), entry.IsDir(), depth+1, visit); err != nil {
			return err
		}
	}
	return visit(path, true)
}

// RemoveAll removes the file or directory at path recursively. It does not follow symbolic links. If path does not
// exist, it returns nil.
func RemoveAll(s System, path string) error {
	if _, err := s.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return Walk(s, path, func(path string, _ bool) error {
		if err := s.Remove(path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	})
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
