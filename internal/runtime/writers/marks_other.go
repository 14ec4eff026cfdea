//go:build !linux

package writers

// add marks nothing: these systems have no locks of open file descriptions on directories. Servers with other state directories are not
// noticed.
func (markedDirs) add(mark) (isNew bool, err error) { return false, nil }

func (markedDirs) remove(mark) {}
