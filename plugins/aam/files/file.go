package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// ErrTooLarge is the error of Read for a file that exceeds the limit.
var ErrTooLarge = errors.New("file is too large")

// tempMark is a part of the name of each temporary file.
const tempMark = ".aam-tmp-"

// Read returns the content of a regular file of at most limit bytes.
func Read(s System, path string, limit int64) ([]byte, error) {
	file, size, err := openRegular(s, path)
	if err != nil {
		return nil, err
	}
	return readAll(file, path, size, limit)
}

// readAll reads a file whose size is about the argument size, and closes the file.
func readAll(file io.ReadCloser, path string, size, limit int64) ([]byte, error) {
	defer file.Close()
	data := bytes.NewBuffer(make([]byte, 0, min(size, limit)+bytes.MinRead))
	// Usually one read returns the whole file. A second read that only detects the end would be another call to the
	// host.
	n, err := io.ReadFull(file, data.AvailableBuffer()[:min(size, limit)])
	data.Write(data.AvailableBuffer()[:n])
	if size > 0 && size <= limit && err == nil {
		return data.Bytes(), nil
	}
	if _, err := data.ReadFrom(io.LimitReader(file, limit+1-int64(n))); err != nil {
		return nil, err
	}
	if int64(data.Len()) > limit {
		return nil, fmt.Errorf("%s: %w: at most %d bytes are read", path, ErrTooLarge, limit)
	}
	return data.Bytes(), nil
}

// OpenRegular opens a regular file for reading. It checks the type of the file first, because opening a device or a
// pipe may block.
func OpenRegular(s System, path string) (io.ReadCloser, error) {
	file, _, err := openRegular(s, path)
	return file, err
}

// openRegular opens a regular file as OpenRegular does, and also returns the size of the file.
func openRegular(s System, path string) (io.ReadCloser, int64, error) {
	info, err := s.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s: %w", path, filesystem.ErrNotRegular)
	}
	file, err := s.Open(path)
	return file, info.Size(), err
}

// Temp returns the options with which atomicfile writes the file at path, with temporary files in the same directory.
func Temp(s System, path string) atomicfile.Options {
	return atomicfile.Options{FS: s, Pattern: "." + strings.ReplaceAll(filepath.Base(path), "*", "_") + tempMark + "*"}
}

// IsTemp reports whether name, the last element of a path, is the name of a temporary file.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.Contains(name, tempMark)
}

// Replace atomically replaces the content of the file at path, and keeps the permission bits of the file. If path is a
// symbolic link, Replace replaces the link, and does not change the target of the link.
func Replace(s System, path string, data []byte) error {
	return atomicfile.Replace(path, data, Temp(s, path))
}

// SweepTemp removes the temporary files for path that killed processes have left behind. The caller must hold a lock
// that excludes other writers of path.
func SweepTemp(s System, path string) {
	_ = atomicfile.Sweep(filepath.Dir(path), 0, Temp(s, path)) // files that cannot be removed are harmless
}

// IsDir reports whether path is a directory or a symbolic link to a directory. It returns false if path is not
// accessible.
func IsDir(s System, path string) bool {
	info, err := s.Stat(path)
	return err == nil && info.IsDir()
}
