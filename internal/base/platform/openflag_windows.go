package platform

import "golang.org/x/sys/windows"

// Flags of os.OpenFile. One that the system lacks is 0, so the caller has to check the type of the opened file.
const (
	// NoFollow opens a symbolic link itself if it is the last component. The caller detects it, since it is no regular file.
	NoFollow = windows.FILE_FLAG_OPEN_REPARSE_POINT
	// NonBlock does not exist on Windows, whose FIFOs are not in the file system.
	NonBlock = 0
	// NoTTY does not exist on Windows.
	NoTTY = 0
	// Directory does not exist on Windows.
	Directory = 0
)
