package derived

import "time"

// settleTime is the age that the times of a file must have when it is read. A file that is changed after it was read, but
// within the resolution of its time stamps, keeps its times (Git calls that a racily clean entry). Two seconds are the
// coarsest resolution in use.
const settleTime = 2 * time.Second

// isSettled reports whether any change of the file after now also changes its times. Times in the future are never
// trusted. A change time without a fraction of a second is not trusted either: a tool that builds disk images may have
// set it, often to a constant, and the next image can have the same inode, size and times for different content. The
// lower layer of an overlay file system can be such an image. This also excludes file systems that record only whole
// seconds.
func (k Key) isSettled(now time.Time) bool {
	limit := now.Add(-settleTime).UnixNano()
	return k.Mtime < limit && k.Ctime < limit && k.Ctime%int64(time.Second) != 0
}
