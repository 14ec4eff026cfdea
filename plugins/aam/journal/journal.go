// Package journal implements atomic transactions over many files and directories with an undo log. Begin starts one; new
// content is staged on the same file system; Commit writes the log, and then moves new content into place and old content
// aside, step by step. If the process ends before the log is removed, Recover rolls the transaction back.
//
// A journal must not be used concurrently: callers hold a lock.
package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

const (
	// recordName is the undo log. While it exists, its steps have to be rolled back.
	recordName = "journal.json"
	// maxRecord bounds that file, in bytes.
	maxRecord = 8 << 20
	format    = 1
)

// Root is a directory that transactions change.
type Root struct {
	Dir string
	// Stage is the staging directory, inside of Dir and on the same file system. Begin and Recover empty it.
	Stage string
	// Only lists the entries of Dir that may be changed, with everything below them. It limits the damage of a forged
	// record, because the directory is untrusted.
	Only []string
}

// Journal executes transactions. The record is in the stage of the first root; a path belongs to the first root that
// contains it. The directory of a root is created when it is needed.
type Journal struct {
	Files files.System
	Roots []Root
}

// record is the undo log.
type record struct {
	Format int      `json:"format"`
	Steps  []step   `json:"steps"`
	Made   []string `json:"made"` // directories that were created for the steps, parents first
}

// step is the change of one path. Its progress can be derived from the stage: new(i) holds the new content until it is
// moved into place, and old(i) the old content.
type step struct {
	Path string `json:"path"`
	// New: Path gets new content. Otherwise it is removed.
	New bool `json:"new"`
	// Over: Path is a file that is replaced atomically by a rename; old(i) is a copy of it. Otherwise Path, if it exists,
	// is moved to old(i).
	Over bool `json:"over"`
	// fresh: Path must not exist when the step is taken. It is not needed for rolling back.
	fresh bool
}

func (j Journal) recordPath() string { return filepath.Join(j.Roots[0].Stage, recordName) }

// root returns the root of path. Symbolic links in the directory of path are allowed unless they lead to a path that must
// not be changed.
func (j Journal) root(path string) (Root, error) {
	for _, root := range j.Roots {
		if !root.holds(path) {
			continue
		}
		folder, err := files.Inside(j.Files, root.Dir, filepath.Dir(path))
		if errors.Is(err, files.ErrOutside) || err == nil && !root.holds(filepath.Join(folder, filepath.Base(path))) {
			return Root{}, fmt.Errorf("%s: a link on its way leads to what is not to be changed: %w", path, fs.ErrPermission)
		}
		return root, err
	}
	return Root{}, fmt.Errorf("%s is not to be changed: %w", path, fs.ErrPermission)
}

// holds reports whether path may be changed. The stage and its parents may not.
func (r Root) holds(path string) bool {
	if files.Within(r.Stage, path) || files.Within(path, r.Stage) {
		return false
	}
	return slices.ContainsFunc(r.Only, func(name string) bool { return files.Within(filepath.Join(r.Dir, name), path) })
}

// staged returns the paths of the new and the old content of step i in the stage.
func (r Root) staged(i int) (coming, old string) {
	return filepath.Join(r.Stage, fmt.Sprintf("new.%d", i)), filepath.Join(r.Stage, fmt.Sprintf("old.%d", i))
}

// Recover rolls back an interrupted transaction, and empties the stages.
func (j Journal) Recover() error {
	if err := j.checkStages(); err != nil {
		return err
	}
	data, err := files.Read(j.Files, j.recordPath(), maxRecord)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return j.clear()
	case err != nil:
		return fmt.Errorf("undo an interrupted change: %w", err)
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil || r.Format != format {
		return fmt.Errorf("undo an interrupted change: %s is not a record of one; "+
			"look what is in %s, then remove it", j.recordPath(), j.Roots[0].Stage)
	}
	if err := j.undo(r); err != nil {
		return fmt.Errorf("undo an interrupted change: %w", err)
	}
	return nil
}

// checkStages refuses a stage behind a symbolic link below its root, whose target would be emptied.
func (j Journal) checkStages() error {
	for _, root := range j.existing() {
		real, err := files.Inside(j.Files, root.Dir, root.Stage)
		if errors.Is(err, files.ErrOutside) || err == nil && real != root.Stage {
			return fmt.Errorf("%s goes through a link, and is not to be changed: %w", root.Stage, fs.ErrPermission)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// existing returns the roots that may have a stage: the first, and those whose directory exists. It lists the parent
// directory, because a sandbox audits each access to a path that is not granted.
func (j Journal) existing() []Root {
	roots := slices.Clone(j.Roots[:1])
	for _, root := range j.Roots[1:] {
		entries, err := j.Files.ReadDir(filepath.Dir(root.Dir))
		if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(root.Dir) }) {
			roots = append(roots, root)
		}
	}
	return roots
}

// Interrupted reports whether a transaction has to be rolled back.
func (j Journal) Interrupted() bool {
	exists, err := files.Exists(j.Files, j.recordPath())
	return err != nil || exists
}

// clear empties the stages. The record is removed first, which makes the transaction final.
func (j Journal) clear() error {
	if err := j.Files.Remove(j.recordPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, root := range j.existing() {
		if err := files.RemoveAll(j.Files, root.Stage); err != nil {
			return err
		}
	}
	return nil
}

// undo rolls back the steps of r in reverse order. It is idempotent, so that it can be interrupted and repeated.
func (j Journal) undo(r record) error {
	for i := len(r.Steps) - 1; i >= 0; i-- {
		if err := j.undoStep(i, r.Steps[i]); err != nil {
			return err
		}
	}
	for i := len(r.Made) - 1; i >= 0; i-- {
		if _, err := j.root(r.Made[i]); err != nil {
			return err
		}
		if err := j.removeEmpty(r.Made[i]); err != nil {
			return err
		}
	}
	return j.clear()
}

func (j Journal) undoStep(i int, s step) error {
	root, err := j.root(s.Path)
	if err != nil {
		return err
	}
	coming, old := root.staged(i)
	kept, err := files.Exists(j.Files, old)
	if err != nil {
		return err
	}
	placed := false
	if s.New {
		waits, err := files.Exists(j.Files, coming)
		if err != nil {
			return err
		}
		placed = !waits
	}
	if s.Over {
		if placed && kept {
			return j.Files.Rename(old, s.Path)
		}
		return nil
	}
	if placed {
		// Not removed: that is not atomic, and an interruption could not be detected.
		if err := j.Files.Rename(s.Path, coming); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if kept {
		return j.Files.Rename(old, s.Path)
	}
	return nil
}

// removeEmpty removes a directory unless another program has created files in it.
func (j Journal) removeEmpty(dir string) error {
	entries, err := j.Files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || len(entries) > 0 {
		return err
	}
	return j.Files.Remove(dir)
}
