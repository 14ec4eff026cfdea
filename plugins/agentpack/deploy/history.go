package deploy

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// History is how snapshots follow each other: a rollback does not add to them, but goes back to an earlier
// one, after which the next deploy follows.
type History struct {
	Head    *Snapshot // the one that holds now
	all     map[string]*Snapshot
	parents map[string]string
}

// NewHistory makes the history of all snapshots, which come by id.
func NewHistory(all []DatedSnapshot) (*History, error) {
	h := &History{all: map[string]*Snapshot{}, parents: map[string]string{}}
	head := ""
	for _, s := range all {
		if s.Kind == KindRollback {
			head = s.RolledBackTo
			continue
		}
		h.all[s.ID] = s.Snapshot
		h.parents[s.ID] = head
		head = s.ID
	}
	if head == "" {
		return nil, errors.New("there is no deploy to roll back")
	}
	if h.Head = h.all[head]; h.Head == nil {
		return nil, fmt.Errorf("the last rollback was to the snapshot %s, which is not there any more", head)
	}
	return h, nil
}

// Since returns the snapshots that followed one, the newest first, as they lead back from the head.
func (h *History) Since(id string) ([]*Snapshot, error) {
	var since []*Snapshot
	for at := h.Head.ID; at != id; at = h.parents[at] {
		s := h.all[at]
		if s == nil || slices.Contains(since, s) {
			return nil, fmt.Errorf("no way leads back from the snapshot %s, which holds now, to %s", h.Head.ID, id)
		}
		since = append(since, s)
	}
	return since, nil
}

// Managed returns the files that the newest deploy or rollback left as managed, in the order of its record;
// nil if there was none.
func LastDeployed(dir string) ([]output.Key, error) {
	all, err := ListSnapshots(dir)
	if err != nil {
		return nil, err
	}
	var newest *DatedSnapshot
	for i, s := range all { // by id, so of two of the same time the larger id comes later
		if s.Kind != KindBootstrap && (newest == nil || !s.Written.Before(newest.Written)) {
			newest = &all[i]
		}
	}
	if newest == nil {
		return nil, nil
	}
	var keys []output.Key
	for _, file := range newest.Files {
		keys = append(keys, file.Key())
	}
	if len(keys) > 0 {
		return keys, nil
	}
	for _, change := range newest.Changes {
		if (change.Op == OpCreate || change.Op == OpUpdate) && !output.IsManifest(filepath.Base(change.Path)) {
			keys = append(keys, output.Key{Target: change.Target, Path: change.Path})
		}
	}
	return keys, nil
}
