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

// ErrTooLarge says that a file is larger than the most that is read.
var ErrTooLarge = errors.New("file is too large")

// ErrNotRegular says that there is a folder, a device or a pipe where a file has to be.
var ErrNotRegular = errors.New("not a regular file")

// Absent tells whether an error says that something is not there: as a path below a file is not, either.
func Absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// tempMark is part of the name of each file that is not finished.
const tempMark = ".aam-tmp-"

// Read returns what is in a regular file of at most limit bytes.
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

// OpenRegular opens a regular file to be read. It looks first what is there: to open a device or a pipe may
// wait for ever.
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

// Replace makes data what is in the file at path: it is written beside it and renamed over it, so that the
// file has all of it or what was in it before. A link is replaced, not followed.
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

// WriteTemp writes a file beside path, under a name that is nobody's, and returns that name. Nothing is
// left behind by a failure, but something is by a process that is killed: see IsTemp.
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

// Place gives a file that WriteTemp has made the name path, which nothing may have yet: what somebody else has put there
// meanwhile stays, and the error is fs.ErrExist. The file's first name is gone then, too.
func Place(s System, temp, path string) error {
	err := s.Link(temp, path)
	if err == nil {
		_ = s.Remove(temp) // if it cannot be, whoever sweeps does it
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		// On a file system without links renaming is left, which replaces a file that came between.
		there, looking := Exists(s, path)
		switch {
		case looking != nil:
			err = looking
		case there:
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

// TempName returns a name beside path that nothing has. It is not taken from math/rand, which in a module
// that is put back after each call would give the same name every time.
func TempName(path string) string {
	dir, base := filepath.Split(path)
	return dir + "." + base + tempMark + strings.ToLower(rand.Text()[:12])
}

// IsTemp tells whether a file's name, without its folder, is one of TempName's.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, tempMark)
}

// SweepTemp takes away what processes that were killed have left of writing the file at path. The caller keeps
// others from writing it.
func SweepTemp(s System, path string) {
	entries, err := s.ReadDir(filepath.Dir(path))
	if err != nil {
		return // then nothing is left there
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), "."+filepath.Base(path)+tempMark) {
			_ = s.Remove(filepath.Join(filepath.Dir(path), entry.Name())) // what cannot be removed does no harm
		}
	}
}

// Exists tells whether there is something at path; a link that leads nowhere is something.
func Exists(s System, path string) (bool, error) {
	_, err := s.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IsDir tells whether there is a folder at path, or a link to one. What cannot be looked at is none.
func IsDir(s System, path string) bool {
	info, err := s.Stat(path)
	return err == nil && info.IsDir()
}
