// Package journal changes many files and folders so that all of them are changed or none, whatever fails and
// whenever the process ends. Begin prepares a change: what is new is staged beside the folder that it goes to;
// Commit puts it in place, step by step. Before the first step the steps are written down, and what they replace
// is kept until the last is done; so a change that was stopped half way is undone by Recover, in a later process.
// It knows nothing of packages.
//
// One process at a time may use a journal: callers hold a lock.
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
	// recordName is the file that says which steps are under way. While it is there, they have to be undone.
	recordName = "journal.json"
	// maxRecord bounds that file, in bytes.
	maxRecord = 8 << 20
	format    = 1
)

// Root is a folder in which changes are made.
type Root struct {
	Dir string
	// Stage is a folder inside of Dir, on the same file system, in which changes are staged. Nothing else may be
	// kept there: Begin and Recover empty it.
	Stage string
	// Only has the names in Dir that may be changed, with all below them. A record may have come with the folder,
	// from who knows whom: nothing beyond these is lost to one that lies.
	Only []string
}

// Journal is the place of changes. The record lies in the first root's stage; a path belongs to the first root
// that it lies in. A root's folder that is not there is made when it is needed.
type Journal struct {
	Files files.System
	Roots []Root
}

// record is the file's content.
type record struct {
	Format int      `json:"format"`
	Steps  []step   `json:"steps"`
	Made   []string `json:"made"` // folders that were made for the steps, outer ones first
}

// step is what becomes of one path. Where it stands can be told from what is there: new(i) has what is to come,
// until it is put in place, and old(i) has what was.
type step struct {
	Path string `json:"path"`
	// New: something comes to be at Path. Without it, Path is cleared.
	New bool `json:"new"`
	// Over: Path is a file that another replaces by one rename, so that there is a whole file at any moment; old(i)
	// is a copy of it. Otherwise what is at Path, if anything, is moved to old(i).
	Over bool `json:"over"`
	// fresh: nothing may be at Path when the step is taken. Who undoes it need not know.
	fresh bool
}

func (j Journal) recordPath() string { return filepath.Join(j.Roots[0].Stage, recordName) }

// root returns the root that path belongs to. The folder that path is in may be reached through a link, unless
// that leads to what may not be changed.
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

// holds tells whether path may be changed: not what is staged, nor what the stage lies in.
func (r Root) holds(path string) bool {
	if files.Within(r.Stage, path) || files.Within(path, r.Stage) {
		return false
	}
	return slices.ContainsFunc(r.Only, func(name string) bool { return files.Within(filepath.Join(r.Dir, name), path) })
}

// staged returns where the new and the old content of step i are kept.
func (r Root) staged(i int) (coming, old string) {
	return filepath.Join(r.Stage, fmt.Sprintf("new.%d", i)), filepath.Join(r.Stage, fmt.Sprintf("old.%d", i))
}

// Recover undoes a change that was stopped, and takes away all that is staged. Without either it does nothing.
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

// checkStages refuses a stage that is reached through a link below its root: it would be emptied wherever that leads.
func (j Journal) checkStages() error {
	for _, root := range j.there() {
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

// there are the roots that may have a stage: the first, and those whose folder is there. The folder around that is
// asked, because whoever runs a sandbox is told of each look at what was not granted.
func (j Journal) there() []Root {
	roots := slices.Clone(j.Roots[:1])
	for _, root := range j.Roots[1:] {
		entries, err := j.Files.ReadDir(filepath.Dir(root.Dir))
		if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == filepath.Base(root.Dir) }) {
			roots = append(roots, root)
		}
	}
	return roots
}

// Interrupted tells whether a change was stopped half way.
func (j Journal) Interrupted() bool {
	there, err := files.Exists(j.Files, j.recordPath())
	return err != nil || there
}

// clear takes away all that is staged. The record goes first, and by itself: from then on nothing is undone.
func (j Journal) clear() error {
	if err := j.Files.Remove(j.recordPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, root := range j.there() {
		if err := files.RemoveAll(j.Files, root.Stage); err != nil {
			return err
		}
	}
	return nil
}

// undo puts everything back to how it was before the steps of r, from the last to the first. It can be stopped
// and begun again.
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
		// Not removed: that would take more than one step, and a stop in it could not be told.
		if err := j.Files.Rename(s.Path, coming); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if kept {
		return j.Files.Rename(old, s.Path)
	}
	return nil
}

// removeEmpty removes a folder unless there is something in it, which is somebody else's.
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
