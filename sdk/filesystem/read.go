package filesystem

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
)

// Reasons why ReadFile refuses a file.
var (
	ErrNotRegular = errors.New("not a regular file")
	ErrTooLarge   = errors.New("file too large")
)

// ReadFile returns the content of a regular file of at most limit bytes. A symbolic link is followed. Files of other types are refused; a
// pipe is refused without blocking.
func ReadFile(fsys FS, path string, limit int64) ([]byte, error) {
	if _, ok := fsys.(OS); ok {
		return readOS(path, limit)
	}
	return readFile(fsys, path, limit)
}

func notRegular(path string) error { return fmt.Errorf("%s: %w", path, ErrNotRegular) }

func tooLarge(path string, limit int64) error {
	return fmt.Errorf("%s: %w: more than %d bytes", path, ErrTooLarge, limit)
}

// readFile implements ReadFile for any file system.
func readFile(fsys FS, path string, limit int64) ([]byte, error) {
	info, err := fsys.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, notRegular(path)
	}
	if info.Size() > limit {
		return nil, tooLarge(path, limit)
	}
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	// The file may grow while it is read. With one byte of spare capacity, the end is detected without a second allocation.
	content := make([]byte, 0, info.Size()+1)
	for {
		n, err := file.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		switch {
		case int64(len(content)) > limit:
			return nil, tooLarge(path, limit)
		case errors.Is(err, io.EOF):
			return content, nil
		case err != nil:
			return nil, err
		case len(content) == cap(content):
			content = append(content, 0)[:len(content)]
		}
	}
}

// IsAbsent reports whether err means that a path does not exist, either because it is absent or because one of its ancestors is a file.
func IsAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// IgnoreAbsent returns nil if IsAbsent(err) is true. Otherwise it returns err.
func IgnoreAbsent(err error) error {
	if IsAbsent(err) {
		return nil
	}
	return err
}

// Exists reports whether path exists. A symbolic link exists even if its target does not.
func Exists(fsys FS, path string) (bool, error) {
	_, err := fsys.Lstat(path)
	return err == nil, IgnoreAbsent(err)
}

// RemoveIfExists removes a file or an empty directory. If the path is absent, it returns no error.
func RemoveIfExists(fsys FS, path string) error { return IgnoreAbsent(fsys.Remove(path)) }

// RemoveEmpty removes a directory if the directory exists and is empty. Otherwise it leaves the path unchanged.
func RemoveEmpty(fsys FS, path string) error {
	info, err := fsys.Lstat(path)
	if err != nil || !info.IsDir() {
		return IgnoreAbsent(err)
	}
	entries, err := fsys.ReadDir(path)
	if err != nil || len(entries) > 0 {
		return IgnoreAbsent(err)
	}
	return RemoveIfExists(fsys, path)
}
