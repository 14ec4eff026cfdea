package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// Bounds of a tree that is copied or removed: how deep its folders are nested, and how many files and folders
// are copied. Links can make a small one endless.
const (
	maxDepth  = 100
	maxCopied = 20_000
)

// MkdirAll makes a folder and those that it lies in, where they are not there yet.
func MkdirAll(s System, path string) error {
	info, err := s.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("there is something that is not a folder")}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MkdirAll(s, parent); err != nil {
			return err
		}
	}
	if err := s.Mkdir(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// RemoveAll takes away what is at path, with all that is in it. Links are taken away, not followed. That
// there is nothing is no error.
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
			return fmt.Errorf("%s: folders are nested more than %d deep", path, maxDepth)
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

// CopyFile copies a regular file to where nothing is, with its permission bits where the file system has
// them to give.
func CopyFile(s System, from, to string) error {
	in, err := OpenRegular(s, from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := s.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return CopyMode(s, from, to)
}

// CopyMode gives to the permission bits that from has.
func CopyMode(s System, from, to string) error {
	mode, err := s.Mode(from)
	if err != nil {
		return err
	}
	if has, err := s.Mode(to); err == nil && has == mode {
		return nil
	}
	return s.SetMode(to, mode)
}

// CopyTree copies the folder or file at from, with all that is in it, to where nothing is. Links are
// followed if they stay inside of root, in which from lies; else nothing more is copied, and it is an error.
func CopyTree(s System, root, from, to string) error {
	c := copier{system: s, root: root, left: maxCopied}
	return c.copy(from, to, 0)
}

type copier struct {
	system System
	root   string
	left   int // how many more may be copied
}

func (c *copier) copy(from, to string, depth int) error {
	if c.left--; depth == maxDepth || c.left < 0 {
		return fmt.Errorf("%s: folders are nested more than %d deep, or there are more than %d files", from, maxDepth, maxCopied)
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
	if err := c.system.Mkdir(to); err != nil {
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
