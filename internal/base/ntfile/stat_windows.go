package ntfile

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Info describes a file. Times are in nanoseconds since 1970.
type Info struct {
	Volume, Index         uint64 // the identity of the file while it exists
	IsDir, Link, ReadOnly bool   // Link is set for a symbolic link or junction
	Special               bool   // set for a reparse point that is no file, such as a socket
	Links                 uint64
	Size                  int64
	Atime, Mtime, Ctime   int64
}

// basicInfo is FILE_BASIC_INFO. Its times are in ticks. setBasic leaves times unchanged for which info has 0.
type basicInfo struct {
	created, accessed, written, changed int64
	attributes                          uint32
	_                                   uint32
}

func bytesOf[T any](v *T) (*byte, uint32) {
	return (*byte)(unsafe.Pointer(v)), uint32(unsafe.Sizeof(*v))
}

func basicOf(h windows.Handle) (info basicInfo, err error) {
	data, size := bytesOf(&info)
	return info, windows.GetFileInformationByHandleEx(h, windows.FileBasicInfo, data, size)
}

func setBasic(h windows.Handle, info basicInfo) error {
	data, size := bytesOf(&info)
	return windows.SetFileInformationByHandle(h, windows.FileBasicInfo, data, size)
}

// Windows counts time in ticks of 100 ns since the beginning of 1601.
const (
	perTick = 100                // nanoseconds
	epoch   = 116444736000000000 // the Unix epoch, in ticks
)

func ticks(nanoseconds int64) int64 { return nanoseconds/perTick + epoch }

func nanoseconds(ticks int64) int64 { return (ticks - epoch) * perTick }

// Stat describes an open file.
func Stat(fd int) (Info, error) {
	h := windows.Handle(fd)
	var by windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(h, &by); err != nil {
		return Info{}, err
	}
	basic, err := basicOf(h)
	if err != nil {
		return Info{}, err
	}
	info := Info{
		Volume: uint64(by.VolumeSerialNumber), Index: uint64(by.FileIndexHigh)<<32 | uint64(by.FileIndexLow),
		IsDir: by.FileAttributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0, ReadOnly: by.FileAttributes&windows.FILE_ATTRIBUTE_READONLY != 0,
		Links: uint64(by.NumberOfLinks), Size: int64(by.FileSizeHigh)<<32 | int64(by.FileSizeLow),
		Atime: nanoseconds(basic.accessed), Mtime: nanoseconds(basic.written), Ctime: nanoseconds(basic.changed),
	}
	if by.FileAttributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		var tag struct{ attributes, tag uint32 }
		data, size := bytesOf(&tag)
		if err := windows.GetFileInformationByHandleEx(h, windows.FileAttributeTagInfo, data, size); err != nil {
			return Info{}, err
		}
		info.Link, info.Special = kindOf(tag.tag)
	}
	return info, nil
}

// kindOf classifies a reparse point. Reparse points that stand for another file or directory are treated as links.
func kindOf(tag uint32) (link, special bool) {
	const surrogate = 0x20000000 // IsReparseTagNameSurrogate
	const socket, executable = 0x80000023, 0x8000001B
	return tag&surrogate != 0, tag == socket || tag == executable
}

// StatAt describes a file, directory or link. It does not follow a link.
func StatAt(dir int, name string) (Info, error) {
	h, err := openItself(dir, name, 0)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = windows.CloseHandle(h) }() // nothing was written
	return Stat(int(h))
}

// Readlink returns the target of a symbolic link or junction, in the form for display if there is one.
func Readlink(dir int, name string) (string, error) {
	h, err := openItself(dir, name, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = windows.CloseHandle(h) }() // nothing was written
	buf := make([]byte, windows.MAXIMUM_REPARSE_DATA_BUFFER_SIZE)
	var n uint32
	err = windows.DeviceIoControl(h, windows.FSCTL_GET_REPARSE_POINT, nil, 0, &buf[0], uint32(len(buf)), &n, nil)
	if errors.Is(err, windows.ERROR_NOT_A_REPARSE_POINT) {
		return "", syscall.EINVAL
	}
	if err != nil {
		return "", err
	}
	return targetOf(buf[:n])
}
