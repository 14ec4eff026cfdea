package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync flushes the content of a file to disk.
func datasync(f *os.File) error { return control(f, unix.Fdatasync) }
