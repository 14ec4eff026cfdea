package workflow

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// Archive moves a completed spec to the archive, into a folder named for its date.
func (p *Project) Archive(id string) (string, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return "", err
	}
	if entry.Status != spec.Completed {
		return "", refuse("Spec '%s' must be completed to archive (current: %s)", entry.ID, entry.Status.Title())
	}
	if entry.File.Link {
		return "", fmt.Errorf("spec '%s' is a link to %s, which only its owner can move", entry.ID, p.Dir.Relative(entry.File.Path))
	}
	folder := filepath.Join(p.Dir.Archive(), group(entry.ID))
	if err := errors.Join(p.Dir.Contains(p.Dir.Archive()), p.Dir.Contains(folder)); err != nil {
		return "", err
	}
	target := filepath.Join(folder, entry.ID+".md")
	err = store.Move(entry.File.Path, target, entry.Sum)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("spec '%s' is not archived: %s exists already", entry.ID, p.Dir.Relative(target))
	case err != nil:
		return "", fmt.Errorf("archive spec '%s': %w", entry.ID, err)
	}
	return fmt.Sprintf("Archived spec: %s -> %s", entry.ID, p.Dir.Relative(target)), nil
}

// group returns the archive's folder for an id: its first ten characters, which is the date of a normal
// one.
func group(id string) string {
	count := 0
	for at := range id {
		if count == 10 {
			return id[:at]
		}
		count++
	}
	return id
}
