package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// The names and the size limit of the files in the stage of the first release, whose log had another format. The first
// release removed the log at the commit. So a transaction whose log exists is always rolled back.
const (
	firstName   = "journal.json"
	firstLimit  = 8 << 20 // maximum size of the log, in bytes
	firstFormat = 1
)

type firstRecord struct {
	Format int         `json:"format"`
	Steps  []firstStep `json:"steps"`
	Made   []string    `json:"made"` // the directories that were created for the steps; parents precede their children
}

// firstStep is the change of one path in the log of the first release. The files in the stage show how far the change
// got: in step i, new.i holds the new content until it is moved to Path, and old.i holds the old content.
type firstStep struct {
	Path string `json:"path"`
	New  bool   `json:"new"`  // true: the step replaces or creates Path; false: the step removes Path
	Over bool   `json:"over"` // true: Path is a file, of which old.i is a copy; false: Path is moved to old.i
}

func (j Journal) firstPath() string { return filepath.Join(j.Roots[0].Stage, firstName) }

func (j Journal) isFirstFormat() (bool, error) { return filesystem.Exists(j.Files, j.firstPath()) }

// undoFirstFormat rolls back a transaction of the first release. It is idempotent, so it can be repeated after an
// interruption.
func (j Journal) undoFirstFormat() error {
	if exists, err := j.isFirstFormat(); err != nil || !exists {
		return err
	}
	data, err := files.Read(j.Files, j.firstPath(), firstLimit)
	if err != nil {
		return err
	}
	var r firstRecord
	if err := json.Unmarshal(data, &r); err != nil || r.Format != firstFormat {
		return fmt.Errorf("%s is not a valid record of an interrupted transaction; inspect the files in %s, then remove that directory", j.firstPath(), j.Roots[0].Stage)
	}
	for i, s := range slices.Backward(r.Steps) {
		if err := j.undoStep(i, s); err != nil {
			return err
		}
	}
	for _, dir := range slices.Backward(r.Made) {
		if _, _, err := j.root(dir); err != nil {
			return err
		}
		if err := filesystem.RemoveEmpty(j.Files, dir); err != nil {
			return err
		}
	}
	return j.Files.Remove(j.firstPath())
}

func (j Journal) undoStep(i int, s firstStep) error {
	root, _, err := j.root(s.Path)
	if err != nil {
		return err
	}
	coming, old := filepath.Join(root.Stage, fmt.Sprintf("new.%d", i)), filepath.Join(root.Stage, fmt.Sprintf("old.%d", i))
	kept, err := filesystem.Exists(j.Files, old)
	if err != nil {
		return err
	}
	placed := false
	if s.New {
		waits, err := filesystem.Exists(j.Files, coming)
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
		// The content at Path is renamed instead of removed: the removal of a tree is not atomic, and an interrupted
		// removal could not be detected.
		if err := j.Files.Rename(s.Path, coming); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if kept {
		return j.Files.Rename(old, s.Path)
	}
	return nil
}
