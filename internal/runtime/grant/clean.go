package grant

import (
	"cmp"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	maxLeftovers = 1024 // most entries of .staging that one Resolve examines
	maxRemovals  = 2048 // most attempts of one Resolve to remove an entry
)

var errTooMany = errors.New("the staged directory contains too many files to be removed by one start")

// cleaner removes the holders that killed processes have left. The type staged explains holders.
type cleaner struct {
	left   int // number of entries that the cleaner may still remove
	kept   int // number of abandoned holders that could not be removed
	first  string
	reason error // the error that kept the first of these holders from being removed
}

// cleanStaging removes abandoned holders. It writes one log line about the holders that it cannot remove.
func (s *Set) cleanStaging(state *state, w *walker) {
	staging, err := openAt(state.dir, stagingName, holderFlags, 0)
	if err != nil {
		return
	}
	defer staging.Close()
	c := cleaner{left: maxRemovals}
	names, _ := staging.Readdirnames(maxLeftovers)
	for _, name := range names {
		holder, elsewhere := strings.CutPrefix(name, markers)
		if !elsewhere {
			c.removeHolder(staging, name, filepath.Join(state.path, stagingName, name))
			continue
		}
		path, err := readLink(staging, name)
		if err != nil || filepath.Base(path) != holder || !strings.HasPrefix(holder, beside) {
			continue
		}
		gone := true
		if p, err := w.walk(filepath.Dir(path)); err == nil {
			gone = len(p.missing) > 0 || c.removeHolder(p.dir, holder, path)
			p.close()
		}
		if gone {
			_ = unlinkAt(staging, name) // after a failure, the next Resolve tries again
		}
	}
	if c.kept > 0 {
		s.log.Warn("staging directories of ended processes cannot be removed: remove them by hand",
			"number", c.kept, "first", c.first, "reason", c.reason)
	}
}

// removeHolder removes an abandoned holder with its contents. It reports whether the holder no longer exists.
func (c *cleaner) removeHolder(parent *os.File, name, path string) bool {
	f, err := lockHolder(parent, name, false)
	if err != nil {
		_, err := identifyAt(parent, name)
		return err == syscall.ENOENT
	}
	defer f.Close()
	err = c.empty(f)
	if err == nil {
		err = removeHeld(f, parent, name)
	}
	if err == nil || err == syscall.ENOENT {
		return true
	}
	if c.kept++; c.kept == 1 {
		c.first, c.reason = path, err
	}
	return false
}

// empty removes the contents of a holder. It moves nested directories to the top level of the holder, so that their depth costs
// neither stack nor descriptors. It follows no symbolic link and crosses no mount point.
func (c *cleaner) empty(holder *os.File) error {
	for {
		names, err := list(holder, c.left)
		if len(names) == 0 {
			return err
		}
		var failed error
		removed := 0
		for _, name := range names {
			err := c.remove(holder, name)
			if isFull(err) {
				err = c.flatten(holder, name) // the next round removes the directory
			}
			if err == nil {
				removed++
			} else {
				failed = cmp.Or(failed, err)
			}
		}
		if removed == 0 {
			return failed
		}
	}
}

// flatten empties the directory name of a holder. It moves subdirectories that are not empty to the top level of the holder.
func (c *cleaner) flatten(holder *os.File, name string) error {
	dir, err := openAt(holder, name, holderFlags, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	names, err := list(dir, c.left)
	for _, child := range names {
		one := c.remove(dir, child)
		if isFull(one) {
			one = renameAt(dir, child, holder, rand.Text())
		}
		err = cmp.Or(err, one)
	}
	return err
}

// remove removes the entry name of dir: a file, a symbolic link or an empty directory.
func (c *cleaner) remove(dir *os.File, name string) error {
	if c.left--; c.left < 0 {
		return errTooMany
	}
	err := rmdirAt(dir, name)
	if err == errNotDir {
		err = unlinkAt(dir, name)
	}
	return err
}

func isFull(err error) bool { return err == syscall.ENOTEMPTY || err == syscall.EEXIST }

// list returns the first n names of a directory, or all names if there are fewer.
func list(dir *os.File, n int) ([]string, error) {
	if _, err := dir.Seek(0, 0); err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(max(n, 1))
	if err == io.EOF {
		err = nil
	}
	return names, err
}
