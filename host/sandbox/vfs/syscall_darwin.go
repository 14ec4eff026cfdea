package vfs

import "os"

// datasync writes the content of a file through to the disk.
func datasync(f *os.File) error { return f.Sync() }
