//go:build unix

// Package openflag has flags of os.OpenFile that not every system has; where one is missing, it is 0. A file that is opened
// with them may still be of any type: the caller has to check the opened file.
package openflag

import "syscall"

const (
	// NoFollow opens no symbolic link as the last component.
	NoFollow = syscall.O_NOFOLLOW
	// NonBlock does not wait for the other end of a FIFO.
	NonBlock = syscall.O_NONBLOCK
	// NoTTY does not make a terminal the controlling one.
	NoTTY = syscall.O_NOCTTY
	// Directory opens nothing but a directory.
	Directory = syscall.O_DIRECTORY
)
