package store

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// Sweep removes temporary files that killed or cancelled calls have left, if they are older than age. The caller holds
// a lock that excludes other calls that write, or chooses an age that no call reaches. They are in specs, and beside
// the targets of its symbolic links.
func (d Dir) Sweep(age time.Duration) error {
	root, err := filepath.EvalSymlinks(d.specs())
	if err != nil {
		return err
	}
	var failed error
	linked := map[string]bool{}
	_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil: // of one directory; the rest is swept
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
