package atomicfile

import (
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Member is a file in a directory that CreateDir creates. The content of the file is the concatenation of the parts.
type Member struct {
	Name  string // relative to the directory; it may contain slashes, and CreateDir creates the subdirectories
	Parts [][]byte
}

// CreateDir atomically creates a directory with files at path. If the path exists, the error matches fs.ErrExist. The caller must prevent
// other programs from creating the path at the same time. After an error no directory has been created.
func CreateDir(path string, members []Member, o Options) error {
	fsys := o.fsys()
	switch exists, err := filesystem.Exists(fsys, path); {
	case err != nil:
		return err
	case exists:
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	temp := o.temp(path)
	err := writeMembers(temp, members, o)
	if err == nil {
		err = fsys.Rename(temp, path)
	}
	if err != nil {
		return errors.Join(err, removeDir(fsys, temp))
	}
	if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
		return errors.Join(err, removeDir(fsys, path))
	}
	return nil
}

// dirMode returns the permission bits of the directory. Users who may read its files may also search it.
func (o Options) dirMode() fs.FileMode { return o.mode() | o.mode()&0o444>>2 | 0o100 }

// writeMembers creates dir with members, and syncs it and its subdirectories.
func writeMembers(dir string, members []Member, o Options) error {
	fsys := o.fsys()
	made := map[string]bool{} // subdirectories, by their paths
	if err := fsys.Mkdir(dir, o.dirMode()); err != nil {
		return err
	}
	for _, member := range members {
		for at, char := range member.Name {
			if sub := filepath.Join(dir, member.Name[:at]); char == '/' && !made[sub] {
				if err := fsys.Mkdir(sub, o.dirMode()); err != nil {
					return err
				}
				made[sub] = true
			}
		}
		if err := writeMember(filepath.Join(dir, member.Name), member.Parts, o); err != nil {
			return err
		}
	}
	for _, sub := range slices.Sorted(maps.Keys(made)) {
		if err := fsys.SyncDir(sub); err != nil {
			return err
		}
	}
	return fsys.SyncDir(dir)
}

func writeMember(path string, parts [][]byte, o Options) error {
	file, err := o.fsys().Create(path, o.mode())
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err == nil {
			_, err = file.Write(part)
		}
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// removeDir removes a directory with everything in it, if it exists. Symbolic links are not followed.
func removeDir(fsys filesystem.FS, path string) error {
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return filesystem.IgnoreAbsent(err)
	}
	for _, entry := range entries {
		remove := filesystem.RemoveIfExists
		if entry.IsDir() {
			remove = removeDir
		}
		if err := remove(fsys, filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return filesystem.RemoveIfExists(fsys, path)
}

// MkdirAll creates a directory and its missing ancestors. After MkdirAll has returned without an error, the directories that it created
// survive a loss of power.
func MkdirAll(path string, o Options) error {
	fsys := o.fsys()
	info, err := fsys.Stat(path)
	switch parent := filepath.Dir(path); {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("exists and is not a directory: remove it")}
	case !filesystem.IsAbsent(err) || parent == path:
		return err
	default:
		if err := MkdirAll(parent, o); err != nil {
			return err
		}
		if err := fsys.Mkdir(path, o.dirMode()); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := fsys.SyncDir(parent); err != nil {
			return errors.Join(err, fsys.Remove(path))
		}
		return nil
	}
}

// IsTemporary reports whether a file name, without its directory, matches o.Pattern, the pattern of temporary files.
func IsTemporary(name string, o Options) bool {
	prefix, suffix := o.pattern()
	return len(name) >= len(prefix)+len(suffix) && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix)
}

// Sweep removes the temporary files and directories in dir that are older than age. Killed processes have left them. The caller must either
// hold a lock that keeps other processes from writing in dir, or choose an age that exceeds the duration of any write. If dir is absent,
// Sweep returns no error.
func Sweep(dir string, age time.Duration, o Options) error {
	entries, err := o.fsys().ReadDir(dir)
	if err != nil {
		return filesystem.IgnoreAbsent(err)
	}
	return SweepEntries(dir, entries, age, o)
}

// SweepEntries is like Sweep, for a caller that has already read the directory. entries are all entries of dir.
func SweepEntries(dir string, entries []fs.DirEntry, age time.Duration, o Options) error {
	var failed error
	for _, entry := range entries {
		if !IsTemporary(entry.Name(), o) {
			continue
		}
		info, err := entry.Info()
		path := filepath.Join(dir, entry.Name())
		switch {
		case err != nil || age > 0 && time.Since(info.ModTime()) < age:
		case entry.IsDir():
			err = removeDir(o.fsys(), path)
		default:
			err = filesystem.RemoveIfExists(o.fsys(), path)
		}
		failed = errors.Join(failed, filesystem.IgnoreAbsent(err))
	}
	return failed
}
