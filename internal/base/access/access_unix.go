//go:build unix

// Package access asks the system, before anything is written, whether the user may write. Its answers are for messages: only
// the write itself decides.
package access

import "golang.org/x/sys/unix"

// WriteFile returns an error if the user may not write the file.
func WriteFile(path string) error { return unix.Access(path, unix.W_OK) }

// CreateIn returns an error if the user may not create files in the directory.
func CreateIn(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
