package git

import (
	"io/fs"
	"syscall"
)

// statOf gives what git remembers of a file.
func statOf(info fs.FileInfo) fileStat {
	s := fileStat{mtime: uint32(info.ModTime().Unix()), mtimeNs: uint32(info.ModTime().Nanosecond()), size: uint32(info.Size())}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.ctimeNs, s.inode = uint32(sys.Ctim.Sec), uint32(sys.Ctim.Nsec), uint32(sys.Ino)
	}
	return s
}
