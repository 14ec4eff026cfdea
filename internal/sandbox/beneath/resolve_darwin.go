package beneath

import "golang.org/x/sys/unix"

// openDirFlags opens a directory for lookups.
const openDirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
