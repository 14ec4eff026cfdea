package ntfile

import (
	"errors"
	"io"

	"golang.org/x/sys/windows"
)

// List reads the next records of an open directory into buf, for NextEntry. The length of buf must be a multiple of 8. List
// returns io.EOF at the end.
func List(fd int, buf []byte, restart bool) ([]byte, error) {
	class := uint32(windows.FileIdBothDirectoryInfo)
	if restart {
		class = windows.FileIdBothDirectoryRestartInfo
	}
	clear(buf[:8])
	err := windows.GetFileInformationByHandleEx(windows.Handle(fd), class, &buf[0], uint32(len(buf)))
	if errors.Is(err, windows.ERROR_NO_MORE_FILES) || errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, err
	}
	return buf, nil
}

// Kind classifies an entry as Stat does.
func (e Entry) Kind() (isDir, link, special bool) {
	isDir = e.Attributes&windows.FILE_ATTRIBUTE_DIRECTORY != 0
	if e.Attributes&windows.FILE_ATTRIBUTE_REPARSE_POINT != 0 {
		link, special = kindOf(e.Tag)
	}
	return isDir, link, special
}
