package ownedpath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Rights of other users that Check refuses: replaces lets a user replace a directory or one of its entries, and writes also
// lets a user change the content of the directory.
const (
	replaces = windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER | fileDeleteChild | windows.GENERIC_ALL
	writes   = replaces | windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | windows.GENERIC_WRITE

	fileDeleteChild = 0x40 // FILE_DELETE_CHILD
)

func checkDir(dir string) error { return check(dir, fs.ModeDir) }

func checkFile(path string, _ int) error { return check(path, 0) }

func checkEntry(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%s cannot be checked: %w", path, err)
	}
	return check(path, info.Mode().Type())
}

// check checks the owner and the access control list of each component of the path dir, which must be of the type kind. If a
// component is a symbolic link or junction, check checks the link, and then the components of the resolved path.
func check(dir string, kind fs.FileMode) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("%s is not an absolute path", dir)
	}
	trusted, err := trustedSIDs()
	if err != nil {
		return fmt.Errorf("%s cannot be checked: %w", dir, err)
	}
	if err := checkComponents(dir, dir, kind, trusted); err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil || strings.EqualFold(real, filepath.Clean(dir)) {
		return nil // dir does not exist, or its path contains no links
	}
	return checkComponents(dir, real, kind, trusted)
}

func checkComponents(dir, path string, kind fs.FileMode, trusted []*windows.SID) error {
	path = filepath.Clean(path)
	var list []string
	for at := path; ; at = filepath.Dir(at) {
		list = append(list, at)
		if at == filepath.Dir(at) {
			break
		}
	}
	for i := len(list) - 1; i >= 0; i-- {
		info, err := os.Lstat(list[i])
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if linked := fs.ModeSymlink | fs.ModeIrregular; err == nil && i == 0 && info.Mode()&linked == 0 && info.Mode().Type() != kind {
			return &Error{Dir: dir, At: list[i], Mode: info.Mode().Perm(), What: "is not a " + kindName(kind), Remedy: "use a different " + kindName(kind)}
		}
		if err == nil {
			err = checkItem(dir, list[i], i == 0, trusted)
		}
		if fault := (*Error)(nil); err != nil && !errors.As(err, &fault) {
			return fmt.Errorf("%s cannot be checked: %w", dir, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func kindName(kind fs.FileMode) string {
	if kind.IsDir() {
		return "directory"
	}
	return "regular file"
}

// checkItem checks one component of the path; last is set for the last component.
func checkItem(dir, path string, last bool, trusted []*windows.SID) error {
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return err
	}
	rights := windows.ACCESS_MASK(replaces)
	if last {
		rights = writes
	}
	other, err := untrusted(sd, rights, trusted)
	if err != nil || other == "" {
		return err
	}
	return &Error{Dir: dir, At: path, What: "belongs to or can be changed by another user (" + other + ")",
		Remedy: "take ownership of it and remove that user's rights, or use a directory of your own"}
}

// untrusted returns the owner, or the first user with one of the rights, who is not in the list trusted. It returns an empty
// string if all of them are trusted.
func untrusted(sd *windows.SECURITY_DESCRIPTOR, rights windows.ACCESS_MASK, trusted []*windows.SID) (string, error) {
	isTrusted := func(sid *windows.SID) bool {
		for _, t := range trusted {
			if t.Equals(sid) {
				return true
			}
		}
		return false
	}
	owner, _, err := sd.Owner()
	if err != nil {
		return "", err
	}
	if !isTrusted(owner) {
		return owner.String(), nil
	}
	list, _, err := sd.DACL()
	if err != nil {
		return "", err
	}
	if list == nil {
		return "Everyone: it has no access control list", nil
	}
	for i := range uint32(list.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(list, i, &ace); err != nil {
			return "", err
		}
		switch {
		case ace.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0 || ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE:
			continue
		case ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE:
			return fmt.Sprintf("an entry of type %d in its access control list", ace.Header.AceType), nil
		}
		if sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart)); ace.Mask&rights != 0 && !isTrusted(sid) {
			return sid.String(), nil
		}
	}
	return "", nil
}

// trustedInstaller is the service that owns the directories of the system.
const trustedInstaller = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

// trustedSIDs returns the user, Administrators, the system, the creator of a file (a placeholder in inherited entries) and
// the installer of the system.
func trustedSIDs() ([]*windows.SID, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return nil, err
	}
	list := []*windows.SID{user.User.Sid}
	for _, known := range []windows.WELL_KNOWN_SID_TYPE{windows.WinBuiltinAdministratorsSid, windows.WinLocalSystemSid, windows.WinCreatorOwnerSid, windows.WinCreatorOwnerRightsSid} {
		sid, err := windows.CreateWellKnownSid(known)
		if err != nil {
			return nil, err
		}
		list = append(list, sid)
	}
	installer, err := windows.StringToSid(trustedInstaller)
	return append(list, installer), err
}

func isPrivate(f *os.File) bool {
	trusted, err := trustedSIDs()
	if err != nil {
		return false
	}
	sd, err := windows.GetSecurityInfo(windows.Handle(f.Fd()), windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return false
	}
	other, err := untrusted(sd, writes, trusted)
	return err == nil && other == ""
}
