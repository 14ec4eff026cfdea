package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync writes the content of a file through to the disk.
func datasync(f *os.File) error { return control(f, unix.Fdatasync) }
