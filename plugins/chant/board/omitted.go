package board

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/criteria"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/id"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/chant/store"
)

// newestFirst orders files by the dates in their ids, descending. An id without a date comes first, since its file may
// be new. Files with the same id keep the order in which they were listed. They are not ordered by
// path, because File contains the path after symbolic links are resolved, not the listed one.
func newestFirst(a, b specFile) int {
	datedA, datedB := id.HasDate(a.ID), id.HasDate(b.ID)
	switch {
	case datedA == datedB:
		return cmp.Or(b.key.Compare(a.key), cmp.Compare(a.order, b.order))
	case datedB:
		return -1
	}
	return 1
}

// Title returns the spec's title; nil if the spec has no title.
func (e *Entry) Title() *string {
	if e.summary != nil {
		return e.summary.title
	}
	return e.Spec.Title()
}

func (e *Entry) hasCriteria() bool {
	if e.summary != nil {
		return e.summary.criteria
	}
	return criteria.Present(e.Spec.Body)
}

// complete reads the file of an entry of which the board has only the summary.
func (b *Board) complete(entry *Entry) error {
	if entry.summary == nil {
		return nil
	}
	read, err := b.open(entry.File)
	if err != nil {
		return fmt.Errorf("spec '%s': %w", entry.ID, err)
	}
	entry.Spec, entry.Sum, entry.summary = read.Spec, read.Sum, nil
	b.setStatus(entry) // another program may have changed the file since the board listed the file
	return nil
}

// omitted is a spec file that the board does not load because of the limits.
type omitted struct {
	file   store.File
	status *spec.Status // cached by Board.status: nil if the file has not been read yet, "" if the file cannot be loaded
}

// omit records that the board omits a file because of a limit, and returns reason as an error.
func (b *Board) omit(file store.File, reason string) error {
	b.omitted[file.ID] = &omitted{file: file}
	return &spec.LoadError{Limit: true, Reason: reason}
}

// openOmitted reads the file of an omitted spec and returns its entry. The board then holds one spec more than the
// limits allow.
func (b *Board) openOmitted(omitted *omitted) (*Entry, error) {
	entry, err := b.open(omitted.file)
	if err != nil {
		return nil, fmt.Errorf("spec '%s': %w", omitted.file.ID, err)
	}
	b.setStatus(entry)
	return entry, nil
}

// status returns the status of an active spec. For an omitted spec, this is the status in the file instead of the
// computed status. The result ok is false if no active spec has the id.
func (b *Board) status(id string) (status spec.Status, ok bool) {
	if entry := b.byID[id]; entry != nil {
		return entry.Status, true
	}
	omitted := b.omitted[id]
	if omitted == nil {
		return "", false
	}
	if omitted.status == nil {
		omitted.status = new(spec.Status)
		if entry, err := b.open(omitted.file); err == nil {
			*omitted.status = entry.Spec.Status
		}
	}
	return *omitted.status, true
}

// maxReasons is the maximum number of different reasons that Omitted names.
const maxReasons = 5

// Omitted returns a text that names the files which are missing from Entries although they may be valid, with the
// reasons. It returns "" if no such file is missing.
func (b *Board) Omitted() string {
	count := 0
	var reasons []string
	paths := map[string][]string{} // the key is a reason; the paths keep the order of b.Errors
	for _, failed := range b.Errors {
		if !failed.Limit {
			continue
		}
		count++
		if paths[failed.Reason] == nil {
			reasons = append(reasons, failed.Reason)
		}
		paths[failed.Reason] = append(paths[failed.Reason], failed.Path)
	}
	if count == 0 {
		return ""
	}
	var parts []string
	for i, reason := range reasons {
		if i == maxReasons {
			parts = append(parts, "and others")
			break
		}
		named := paths[reason][0]
		if group := paths[reason]; len(group) > 1 {
			named = fmt.Sprintf("%d files from %s to %s", len(group), named, group[len(group)-1])
		}
		parts = append(parts, fmt.Sprintf("%s (%s)", named, reason))
	}
	return fmt.Sprintf("%d not included: %s", count, strings.Join(parts, ", "))
}
