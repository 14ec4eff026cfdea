//go:build unix

package platform

import "syscall"

// Flags of os.OpenFile. One that the system lacks is 0, so the caller has to check the type of the opened file.
const (
	// NoFollow makes opening fail if the last component is a symbolic link.
	NoFollow = syscall.O_NOFOLLOW
	// NonBlock makes opening a FIFO not wait for the other end.
	NonBlock = syscall.O_NONBLOCK
	// NoTTY prevents that an opened terminal becomes the controlling terminal of the process.
	NoTTY = syscall.O_NOCTTY
	// Directory makes opening fail unless the file is a directory.
	Directory = syscall.O_DIRECTORY
)
