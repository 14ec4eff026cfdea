package workflow

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/board"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// Update changes a spec. It sets the status unless status is nil, and appends output to the body unless output is nil
// or empty.
func (p *Project) Update(id string, status, output *string) (string, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return "", err
	}
	if status != nil && !assignable(spec.Status(*status)) {
		return "", refuse("Invalid status: %s. Must be one of: pending, in_progress, completed, failed", *status)
	}
	if output != nil && *output == "" {
		output = nil
	}
	if status == nil && output == nil {
		return "", Refusal("No updates specified. Provide 'status' or 'output' parameter.")
	}
	err = p.save(entry, func(s *spec.Spec) {
		if status != nil {
			s.Status = spec.Status(*status)
		}
		if output != nil {
			s.AppendOutput(*output)
		}
	})
	return "Updated spec: " + entry.ID, err
}

func assignable(status spec.Status) bool {
	switch status {
	case spec.Pending, spec.InProgress, spec.Completed, spec.Failed:
		return true
	}
	return false
}

// Finalize marks a spec as completed and records the current time in the spec. All acceptance criteria of the spec must
// be ticked.
func (p *Project) Finalize(id string) (string, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return "", err
	}
	switch entry.Status {
	case spec.InProgress, spec.Completed, spec.Failed:
	default:
		return "", refuse("Spec '%s' must be in_progress, completed, or failed to finalize. Current status: %s",
			entry.ID, entry.Status.Title())
	}
	if unchecked := criteria.Unchecked(entry.Spec.Body); unchecked > 0 {
		return "", refuse("Spec '%s' has %d unchecked acceptance criteria. All criteria must be checked before finalization.",
			entry.ID, unchecked)
	}
	now := p.Now.UTC().Format("2006-01-02T15:04:05Z")
	err = p.save(entry, func(s *spec.Spec) { s.Status, s.CompletedAt = spec.Completed, &now })
	return "Finalized spec: " + entry.ID, err
}

// Resume makes a failed or interrupted spec pending again.
func (p *Project) Resume(id string) (string, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return "", err
	}
	if entry.Status != spec.Failed && entry.Status != spec.InProgress {
		return "", refuse("Spec '%s' is not in failed or in_progress state (current: %s). Only failed or in_progress specs can be resumed.",
			entry.ID, entry.Status.Title())
	}
	err = p.save(entry, func(s *spec.Spec) { s.Status = spec.Pending })
	return fmt.Sprintf("Resumed spec '%s' - reset to pending", entry.ID), err
}

// Cancel marks a spec as cancelled. Other specs that depend on the cancelled spec stay blocked.
func (p *Project) Cancel(id string) (string, error) {
	entry, err := p.find(id, false)
	if err != nil {
		return "", err
	}
	if entry.Status == spec.Cancelled {
		return "", refuse("Spec '%s' is already cancelled", entry.ID)
	}
	err = p.save(entry, func(s *spec.Spec) { s.Status = spec.Cancelled })
	return "Cancelled spec: " + entry.ID, err
}

// save changes the file of a spec. The error is store.ErrChanged if another program has changed the file since the
// board loaded the spec.
func (p *Project) save(entry *board.Entry, change func(*spec.Spec)) error {
	content, err := p.reread(entry)
	if err != nil {
		return err
	}
	document, err := spec.Open(content)
	if err != nil {
		return err
	}
	change(&document.Spec)
	changed, err := document.Encode()
	if err != nil {
		return fmt.Errorf("cannot save spec '%s': %w", entry.ID, err)
	}
	if err := store.Replace(entry.File.Path, entry.Sum, changed); err != nil {
		return fmt.Errorf("cannot save spec '%s': %w", entry.ID, err)
	}
	return nil
}

// reread returns the content of an entry's file. The error is store.ErrChanged if the content has changed since the
// board loaded the entry.
func (p *Project) reread(entry *board.Entry) (string, error) {
	content, sum, err := store.Read(entry.File.Path, spec.MaxSize)
	if err == nil && sum != entry.Sum {
		err = store.ErrChanged
	}
	if err != nil {
		return "", fmt.Errorf("spec '%s': %w", entry.ID, err)
	}
	return content, nil
}
