package platform

import "golang.org/x/sys/unix"

func isLocal(st *unix.Statfs_t) bool { return unix.ByteSliceToString(st.Fstypename[:]) == "apfs" }
