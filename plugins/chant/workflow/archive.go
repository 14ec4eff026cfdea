package workflow

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
)

// Archive moves a completed spec to that directory of the archive which is named after the date in the spec's id.
func (p *Project) Archive(id string) (string, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return "", err
	}
	if entry.Status != spec.Completed {
		return "", refuse("Spec '%s' must be completed to archive (current: %s)", entry.ID, entry.Status.Title())
	}
	if entry.File.Link {
		return "", fmt.Errorf("spec '%s' is a symbolic link to %s and cannot be archived: move it by hand", entry.ID, p.Dir.Relative(entry.File.Path))
	}
	dir := filepath.Join(p.Dir.Archive(), dateOf(entry.ID))
	if err := errors.Join(p.Dir.Contains(p.Dir.Archive()), p.Dir.Contains(dir)); err != nil {
		return "", err
	}
	target := filepath.Join(dir, entry.ID+".md")
	err = p.Dir.Move(entry.File.Path, target, entry.Sum)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", fmt.Errorf("spec '%s' is not archived: %s already exists", entry.ID, p.Dir.Relative(target))
	case err != nil:
		return "", fmt.Errorf("cannot archive spec '%s': %w", entry.ID, err)
	}
	return fmt.Sprintf("Archived spec: %s -> %s", entry.ID, p.Dir.Relative(target)), nil
}

// dateOf returns the date in an id, which consists of the first ten characters.
func dateOf(id string) string {
	count := 0
	for at := range id {
		if count == 10 {
			return id[:at]
		}
		count++
	}
	return id
}
