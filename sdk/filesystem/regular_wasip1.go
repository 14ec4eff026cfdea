package filesystem

import "syscall"

// nonblock is 0, since the host opens pipes without blocking.
const nonblock = 0

func isRegular(info *syscall.Stat_t) bool { return info.Filetype == syscall.FILETYPE_REGULAR_FILE }
