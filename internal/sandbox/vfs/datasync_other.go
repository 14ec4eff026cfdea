//go:build !linux

package vfs

import "os"

// datasync flushes the content of a file to disk.
func datasync(f *os.File) error { return f.Sync() }
