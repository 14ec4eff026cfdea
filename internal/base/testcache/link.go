package testcache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Link creates the directory to with the files of from, as hard links where the system permits; files that are there stay. A test may add, replace and
// remove files there, but must not write to one in place. A new directory appears with all of its files, since a program replaces an entry of its
// cache that is incomplete.
func Link(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return linkFile(to, from, info)
	}
	if _, err := os.Lstat(to); err == nil {
		return linkAll(to, from)
	}
	perm := info.Mode().Perm() | 0o700
	if err := os.MkdirAll(filepath.Dir(to), perm); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(to), ".link-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh) // after an error, or if another test was faster
	if err := errors.Join(linkAll(fresh, from), os.Chmod(fresh, perm)); err != nil {
		return err
	}
	if err := os.Rename(fresh, to); err != nil {
		return linkAll(to, from)
	}
	return nil
}

func linkAll(to, from string) error {
	entries, err := os.ReadDir(from)
	for _, entry := range entries {
		err = errors.Join(err, Link(filepath.Join(to, entry.Name()), filepath.Join(from, entry.Name())))
	}
	return err
}

func linkFile(to, from string, info fs.FileInfo) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
