package ntfile

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Unlink removes a file, a symbolic link or a junction.
func Unlink(dir int, name string) error { return remove(dir, name, false) }

// Rmdir removes an empty directory.
func Rmdir(dir int, name string) error { return remove(dir, name, true) }

func remove(dir int, name string, isDir bool) error {
	h, err := openItself(dir, name, windows.DELETE|windows.FILE_WRITE_ATTRIBUTES)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }() // nothing was written
	info, err := Stat(int(h))
	switch {
	case err != nil:
		return err
	case isDir && (!info.IsDir || info.Link):
		return ENOTDIR
	case !isDir && info.IsDir && !info.Link:
		return syscall.EISDIR
	}
	// With POSIX semantics the name is free immediately, even if other processes have the file open.
	ex := uint32(windows.FILE_DISPOSITION_DELETE | windows.FILE_DISPOSITION_POSIX_SEMANTICS | windows.FILE_DISPOSITION_IGNORE_READONLY_ATTRIBUTE)
	err = set(h, windows.FileDispositionInformationEx, unsafe.Slice((*byte)(unsafe.Pointer(&ex)), unsafe.Sizeof(ex)))
	if !lacks(err) {
		return err
	}
	if err := clearReadOnly(h); err != nil {
		return err
	}
	del := []byte{1}
	return set(h, windows.FileDispositionInformation, del)
}

// lacks reports whether err means that the file system, or an old version of Windows, does not support the request.
func lacks(err error) bool {
	return errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EINVAL) || errors.Is(err, windows.ERROR_INVALID_PARAMETER)
}

func set(h windows.Handle, class uint32, data []byte) error {
	var status windows.IO_STATUS_BLOCK
	if err := windows.NtSetInformationFile(h, &status, &data[0], uint32(len(data)), class); err != nil {
		return posix(err)
	}
	return nil
}

// renameInformation is the part of FILE_RENAME_INFORMATION, and of FILE_LINK_INFORMATION, that precedes the name.
type renameInformation struct {
	flags  uint32 // the first byte is ReplaceIfExists for the classes without Ex
	root   windows.Handle
	length uint32 // bytes of the name
}

func renameData(flags uint32, dir int, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	text, err := windows.UTF16FromString(name)
	if err != nil {
		return nil, syscall.EINVAL
	}
	text = text[:len(text)-1]
	const begin = unsafe.Offsetof(renameInformation{}.length) + unsafe.Sizeof(uint32(0))
	words := make([]uint64, (int(begin)+2*len(text)+15)/8) // words, for alignment; the system requires room for one more character
	data := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 8*len(words))
	*(*renameInformation)(unsafe.Pointer(&words[0])) = renameInformation{flags, windows.Handle(dir), uint32(2 * len(text))}
	copy(data[begin:], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(text))), 2*len(text)))
	return data, nil
}

const fileRenameInformationEx = 65 // FileRenameInformationEx

// Rename moves a file, directory or link, and replaces an existing file.
func Rename(from int, name string, to int, other string) error {
	return rename(from, name, to, other, true)
}

// RenameNoReplace is like Rename, but fails with EEXIST if the new name exists.
func RenameNoReplace(from int, name string, to int, other string) error {
	return rename(from, name, to, other, false)
}

func rename(from int, name string, to int, other string, replace bool) error {
	h, err := openItself(from, name, windows.DELETE)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }() // nothing was written
	flags := uint32(windows.FILE_RENAME_POSIX_SEMANTICS | windows.FILE_RENAME_IGNORE_READONLY_ATTRIBUTE)
	plain := uint32(0)
	if replace {
		flags |= windows.FILE_RENAME_REPLACE_IF_EXISTS
		plain = 1
	}
	data, err := renameData(flags, to, other)
	if err != nil {
		return err
	}
	if err = set(h, fileRenameInformationEx, data); !lacks(err) {
		return err
	}
	if data, err = renameData(plain, to, other); err != nil {
		return err
	}
	return set(h, windows.FileRenameInformation, data)
}

const fileLinkInformation = 11 // FileLinkInformation

// Link creates a hard link.
func Link(from int, name string, to int, other string) error {
	h, err := openItself(from, name, windows.FILE_WRITE_ATTRIBUTES)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }() // nothing was written
	data, err := renameData(0, to, other)
	if err != nil {
		return err
	}
	return set(h, fileLinkInformation, data)
}

// reopen opens the file of a handle again, with different access rights.
func reopen(fd int, access uint32) (windows.Handle, error) {
	return create(windows.Handle(fd), ".", access|windows.SYNCHRONIZE, shareAll, windows.FILE_OPEN, windows.FILE_OPEN_REPARSE_POINT, 0)
}

// Chmod clears the read-only attribute of an open file if writable is set, and sets the attribute otherwise.
func Chmod(fd int, writable bool) error {
	h, err := reopen(fd, windows.FILE_READ_ATTRIBUTES|windows.FILE_WRITE_ATTRIBUTES)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }() // nothing was written
	basic, err := basicOf(h)
	if err != nil {
		return err
	}
	attributes := basic.attributes &^ windows.FILE_ATTRIBUTE_READONLY
	if !writable {
		attributes |= windows.FILE_ATTRIBUTE_READONLY
	}
	return setBasic(h, basicInfo{attributes: max(attributes, windows.FILE_ATTRIBUTE_NORMAL)})
}

func clearReadOnly(h windows.Handle) error {
	basic, err := basicOf(h)
	if err != nil || basic.attributes&windows.FILE_ATTRIBUTE_READONLY == 0 {
		return err
	}
	return setBasic(h, basicInfo{attributes: max(basic.attributes&^windows.FILE_ATTRIBUTE_READONLY, windows.FILE_ATTRIBUTE_NORMAL)})
}

// SetTimes sets the times of an open file, in nanoseconds since 1970. Their precision is 100 ns.
func SetTimes(fd int, atime, mtime int64) error {
	h, err := reopen(fd, windows.FILE_WRITE_ATTRIBUTES)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(h) }() // nothing was written
	return setBasic(h, basicInfo{accessed: ticks(atime), written: ticks(mtime)})
}
