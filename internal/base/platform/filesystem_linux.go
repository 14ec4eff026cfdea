package platform

import (
	"slices"

	"golang.org/x/sys/unix"
)

const zfsMagic = 0x2fc12fc1

var localTypes = []uint32{
	unix.EXT4_SUPER_MAGIC, // also the number of ext2 and ext3
	unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
	unix.BCACHEFS_SUPER_MAGIC, zfsMagic,
}

func isLocal(st *unix.Statfs_t) bool { return slices.Contains(localTypes, uint32(st.Type)) }
