package platform

import (
	"os"

	"golang.org/x/sys/windows"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ntfile"
)

// FileSystem returns the volume of a file. local reports whether index and times identify a version of a file on its file
// system. On NTFS they do: it records a change time that programs do not set.
func FileSystem(file *os.File) (dev uint64, local bool, err error) {
	info, err := ntfile.Stat(int(file.Fd()))
	if err != nil {
		return 0, false, err
	}
	name := make([]uint16, windows.MAX_PATH+1)
	err = windows.GetVolumeInformationByHandle(windows.Handle(file.Fd()), nil, 0, nil, nil, nil, &name[0], uint32(len(name)))
	return info.Volume, err == nil && windows.UTF16ToString(name) == "NTFS", err
}
