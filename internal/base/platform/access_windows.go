package platform

import "golang.org/x/sys/windows"

// CheckWrite returns an error if the user may not write the file. The answer is for messages: only the write itself decides.
func CheckWrite(path string) error {
	return open(path, windows.FILE_WRITE_DATA|windows.FILE_APPEND_DATA)
}

// CheckCreateIn returns an error if the user may not create files in the directory. The answer is for messages likewise.
func CheckCreateIn(dir string) error {
	return open(dir, windows.FILE_WRITE_DATA|windows.FILE_APPEND_DATA)
}

// open opens the path with the rights, so that the system checks them against the access control list.
func open(path string, rights uint32) error {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return err
	}
	const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
	h, err := windows.CreateFile(name, rights, share, nil, windows.OPEN_EXISTING, windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return err
	}
	return windows.CloseHandle(h)
}
