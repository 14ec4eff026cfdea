//go:build !wasip1

package filesystem

import (
	"io"
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
