//go:build linux || darwin

package vfs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// OSFlag is osFlag.
var OSFlag = osFlag

// MountsAt opens the directories of mounts by path, as the granting host does.
func MountsAt(t testing.TB, list ...Mount) *Mounts {
	t.Helper()
	for i := range list {
		m := &list[i]
		var err error
		if m.Dir, err = openAt(t, m.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			m.Dir = nil // the path is a symbolic link or a file
		}
		if m.Write {
			m.Create = func(context.Context) (*os.File, error) {
				if err := os.Mkdir(m.Path, 0o755); err != nil {
					return nil, err
				}
				return openAt(t, m.Path)
			}
		}
		m.Anchors = anchorsOf(t, m.Path)
	}
	ms, err := NewMounts(list)
	if err != nil {
		t.Fatal(err)
	}
	return ms
}

func openAt(t testing.TB, path string) (*os.File, error) {
	file, err := os.OpenFile(path, openDirFlags, 0)
	if err == nil {
		t.Cleanup(func() { file.Close() })
	}
	return file, err
}

// anchorsOf returns the directories and symbolic links on a path.
func anchorsOf(t testing.TB, path string) []FileID {
	var ids []FileID
	for ; path != "/"; path = filepath.Dir(path) {
		dir, err := os.Open(filepath.Dir(path))
		if err != nil {
			continue
		}
		t.Cleanup(func() { dir.Close() })
		m := &mount{}
		if err := m.use(dir); err != nil {
			t.Fatal(err)
		}
		if st, err := m.dir().Lstat(filepath.Base(path)); err == nil {
			ids = append(ids, st.FileID)
		}
		if target, err := m.dir().Readlink(filepath.Base(path)); err == nil {
			ids = append(ids, anchorsOf(t, filepath.Join(filepath.Dir(path), target))...)
		}
	}
	return ids
}
