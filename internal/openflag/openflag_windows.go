// Package openflag has flags of os.OpenFile that not every system has; where one is missing, it is 0. A file that is opened
// with them may still be of any type: the caller has to check the opened file.
package openflag

import "golang.org/x/sys/windows"

const (
	// NoFollow opens a symbolic link as the last component itself, which is no regular file.
	NoFollow = windows.FILE_FLAG_OPEN_REPARSE_POINT
	// NonBlock does not exist: FIFOs are not in the file system.
	NonBlock = 0
	// NoTTY does not exist.
	NoTTY = 0
	// Directory does not exist.
	Directory = 0
)
