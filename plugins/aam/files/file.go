package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrTooLarge reports a file that exceeds the limit of Read.
var ErrTooLarge = errors.New("file is too large")

// ErrNotRegular reports a directory, device or pipe where a regular file is required.
var ErrNotRegular = errors.New("not a regular file")

// Absent reports whether an error means that a path does not exist, also because a parent is a file.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// tempMark is part of the name of each temporary file.
const tempMark = ".aam-tmp-"

// Read returns the content of a regular file of at most limit bytes.
func Read(s System, path string, limit int64) ([]byte, error) {
	file, err := OpenRegular(s, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w: at most %d bytes are read", path, ErrTooLarge, limit)
	}
	return data, nil
}

// OpenRegular opens a regular file for reading. It checks the type first, because opening a device or a pipe may block.
func OpenRegular(s System, path string) (io.ReadCloser, error) {
	info, err := s.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, ErrNotRegular)
	}
	return s.Open(path)
}

// Replace atomically replaces the content of a file: it writes a temporary file and renames it. A symbolic link is
// replaced, not followed.
func Replace(s System, path string, data []byte) error {
	temp, err := WriteTemp(s, path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.Rename(temp, path); err != nil {
		s.Remove(temp)
		return err
	}
	return nil
}

// WriteTemp writes a temporary file in the directory of path, and returns its name. After an error it is removed; a
// killed process leaves it behind: see IsTemp.
func WriteTemp(s System, path string, write func(io.Writer) error) (temp string, err error) {
	temp = TempName(path)
	file, err := s.Create(temp)
	if err != nil {
		return "", err
	}
	err = write(file)
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		s.Remove(temp)
		return "", err
	}
	return temp, nil
}

// Place moves a temporary file to path without replacing anything: if path exists, the error is fs.ErrExist. The temporary
// file is removed in any case.
func Place(s System, temp, path string) error {
	err := s.Link(temp, path)
	if err == nil {
		_ = s.Remove(temp) // otherwise SweepTemp removes it
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		// Without hard links there is only rename, which may replace a file that is created concurrently.
		exists, checkErr := Exists(s, path)
		switch {
		case checkErr != nil:
			err = checkErr
		case exists:
			err = &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
		default:
			err = s.Rename(temp, path)
		}
	}
	if err != nil {
		_ = s.Remove(temp)
	}
	return err
}

// TempName returns a random name in the directory of path. It does not use math/rand, which would return the same name
// in each call, because the module is restored to a snapshot.
func TempName(path string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base + tempMark + strings.ToLower(rand.Text()[:12])
}

// IsTemp reports whether a base name is one of TempName's.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, tempMark)
}

// SweepTemp removes temporary files for path that killed processes have left behind. The caller holds a lock that keeps
// others from writing path.
func SweepTemp(s System, path string) {
	entries, err := s.ReadDir(filepath.Dir(path))
	if err != nil {
		return // no directory, no leftovers
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "."+filepath.Base(path)+tempMark) {
			_ = s.Remove(filepath.Join(filepath.Dir(path), entry.Name())) // leftovers are harmless
		}
	}
}

// Exists reports whether path exists. A dangling symbolic link does.
func Exists(s System, path string) (bool, error) {
	_, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IsDir reports whether path is a directory, or a symbolic link to one. It is false if that cannot be determined.
func IsDir(s System, path string) bool {
	info, err := s.Stat(path)
	return err == nil && info.IsDir()
}
