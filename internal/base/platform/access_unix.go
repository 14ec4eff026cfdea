//go:build unix

package platform

import "golang.org/x/sys/unix"

// CheckWrite returns an error if the user may not write the file. The answer is for messages: only the write itself decides.
func CheckWrite(path string) error { return unix.Access(path, unix.W_OK) }

// CheckCreateIn returns an error if the user may not create files in the directory. The answer is for messages likewise.
func CheckCreateIn(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
