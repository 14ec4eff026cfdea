package derived

import "time"

// settleTime is the age that the times of a file must have when it is read. A file that is changed after it was read, but
// within the resolution of its time stamps, keeps its times (Git calls that a racily clean entry). Two seconds are the
// coarsest resolution in use.
const settleTime = 2 * time.Second

// isSettled reports whether a change of the file after now changes its times. Times in the future are never trusted.
func (k Key) isSettled(now time.Time) bool {
	limit := now.Add(-settleTime).UnixNano()
	return k.Mtime < limit && k.Ctime < limit
}
