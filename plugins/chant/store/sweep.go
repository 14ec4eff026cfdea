package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// Sweep removes temporary files that killed or cancelled calls left behind, if they are older than age. It searches the
// specs directory and the directories of the targets of the symbolic links in the specs directory. The caller must hold
// a lock that excludes other calls that write, or choose an age that no running call reaches.
func (d Dir) Sweep(age time.Duration) error {
	root, err := filepath.EvalSymlinks(d.specs())
	if err != nil {
		return err
	}
	var failed error
	linked := map[string]bool{}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil: // skip a directory that cannot be read
			failed = errors.Join(failed, err)
		case entry.Type().IsRegular():
			failed = errors.Join(failed, atomicfile.SweepEntries(filepath.Dir(path), []fs.DirEntry{entry}, age, options))
		case entry.Type()&fs.ModeSymlink != 0 && strings.HasSuffix(entry.Name(), ".md"):
			if target := d.file("", path, entry.Type()); target.Err == nil {
				linked[filepath.Dir(target.Path)] = true
			}
		}
		return nil
	})
	for dir := range linked {
		failed = errors.Join(failed, atomicfile.Sweep(dir, age, options))
	}
	return failed
}
