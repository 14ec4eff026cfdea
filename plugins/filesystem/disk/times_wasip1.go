package disk

import (
	"io/fs"
	"syscall"
	"time"
)

// times returns when a file was last read, and when its metadata last changed.
func times(info fs.FileInfo) (accessed, changed time.Time) {
	stat := info.Sys().(*syscall.Stat_t)
	return time.Unix(0, int64(stat.Atime)), time.Unix(0, int64(stat.Ctime))
}
