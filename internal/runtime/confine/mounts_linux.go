package confine

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// detachHandles replaces each directory handle by a clone of its mount that no mount namespace contains. A handle that
// cannot be replaced is left unchanged, and the layer is reported as missing.
func (a *application) detachHandles() error {
	if len(a.dirs()) == 0 {
		return missingError("no directory is given")
	}
	var missing error
	for _, d := range a.dirs() {
		if err := detach(d); err != nil && missing == nil {
			missing = missingError(fmt.Sprintf("descriptor %d: %v", d.FD, err))
		}
	}
	return missing
}

// detach opens the directory again by its path, because a mount can be cloned only within the mount
// namespace of the process, and the handle belongs to the host's mount namespace. The clone is used only if
// it is of the same directory.
func detach(d Dir) error {
	path, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(d.FD))
	if err != nil {
		return err
	}
	const flags = unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_RECURSIVE | unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	tree, err := unix.OpenTree(unix.AT_FDCWD, path, flags)
	if err != nil {
		return fmt.Errorf("open_tree: %w", err)
	}
	keepTree := false
	defer func() {
		if !keepTree {
			unix.Close(tree)
		}
	}()
	if same, err := sameFile(tree, d.FD); err != nil {
		return err
	} else if !same {
		return fmt.Errorf("%s is not the directory of the handle", path)
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_NOEXEC}
	if !d.Write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return fmt.Errorf("mount_setattr: %w", err)
	}
	mode, err := unix.FcntlInt(uintptr(d.FD), unix.F_GETFL, 0)
	if err != nil {
		return err
	}
	if mode&unix.O_PATH != 0 {
		return unix.Dup3(tree, d.FD, unix.O_CLOEXEC)
	}
	// The descriptor of the tree must stay open: closing it unmounts the mounts below.
	dir, err := unix.Openat(tree, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	keepTree = true
	return unix.Dup3(dir, d.FD, unix.O_CLOEXEC)
}

func sameFile(a, b int) (bool, error) {
	var x, y unix.Stat_t
	if err := unix.Fstat(a, &x); err != nil {
		return false, err
	}
	err := unix.Fstat(b, &y)
	return x.Dev == y.Dev && x.Ino == y.Ino, err
}

// changeRoot makes Root the root and the working directory of all threads, which share both. It comes after
// detachHandles, which needs the old root.
func (a *application) changeRoot() error {
	if a.Root == nil {
		return missingError("no root directory is given")
	}
	if !hasCapability(unix.CAP_SYS_CHROOT) {
		return missingError("the process lacks CAP_SYS_CHROOT, which user namespaces would give")
	}
	if err := unix.Fchdir(a.Root.FD); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return missingError("chroot: " + err.Error())
	}
	return unix.Chdir("/")
}
