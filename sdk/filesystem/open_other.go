//go:build !wasip1

package filesystem

import (
	"io"
	"io/fs"
	"os"
)

// open opens a file for reading.
func open(path string) (io.ReadCloser, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err // returning the nil *os.File would make a non-nil interface
	}
	return file, nil
}

// create creates a file for writing.
func create(path string, mode fs.FileMode) (File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, err
	}
	return file, nil
}

func remove(path string) error { return os.Remove(path) }
