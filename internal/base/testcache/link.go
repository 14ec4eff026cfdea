package testcache

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Link creates the directory to with the files of from, as hard links where the system permits. A test may add, replace and remove
// files there, but must not write to one in place.
func Link(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, strings.TrimPrefix(path, from))
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.MkdirAll(target, info.Mode().Perm()|0o700)
		}
		if err := os.Link(path, target); err == nil || errors.Is(err, fs.ErrExist) {
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, info.Mode().Perm())
	})
}
