package deploy

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// History holds all snapshots and the parent of each snapshot. After a rollback, the restored snapshot becomes the
// parent of the snapshot of the next deploy.
type History struct {
	Head    *Snapshot // the snapshot that describes the current state
	all     map[string]*Snapshot
	parents map[string]string
}

// NewHistory returns the history of the snapshots in all, which must be sorted by id.
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
		return nil, errors.New("there is no deploy to roll back: call deploy and deploy_apply first")
	}
	if h.Head = h.all[head]; h.Head == nil {
		return nil, fmt.Errorf("the last rollback was to the snapshot %s, which no longer exists", head)
	}
	return h, nil
}

// Since returns the snapshots from Head back along the parents to the snapshot with the given id, without that snapshot
// itself.
func (h *History) Since(id string) ([]*Snapshot, error) {
	var since []*Snapshot
	for at := h.Head.ID; at != id; at = h.parents[at] {
		s := h.all[at]
		if s == nil || slices.Contains(since, s) {
			return nil, fmt.Errorf("the current snapshot %s does not descend from the snapshot %s: roll back to one of its ancestors", h.Head.ID, id)
		}
		since = append(since, s)
	}
	return since, nil
}

// LastDeployed returns the managed files that the newest deploy or rollback recorded, in the order of its snapshot; nil
// if there is no snapshot. It omits paths that no deploy writes, such as those with "..".
func LastDeployed(dir string) ([]output.Key, error) {
	all, err := ListSnapshots(dir)
	if err != nil {
		return nil, err
	}
	var newest *DatedSnapshot
	for i, s := range all { // snapshots are sorted by id, so that of two snapshots with equal times the one with the larger id is used
		if s.Kind != KindBootstrap && (newest == nil || !s.Written.Before(newest.Written)) {
			newest = &all[i]
		}
	}
	if newest == nil {
		return nil, nil
	}
	var keys []output.Key
	for _, file := range newest.Files {
		if isClean(file.Path) {
			keys = append(keys, file.Key())
		}
	}
	if len(keys) > 0 {
		return keys, nil
	}
	for _, change := range newest.Changes {
		if (change.Op == OpCreate || change.Op == OpUpdate) && isClean(change.Path) && !output.IsManifest(filepath.Base(change.Path)) {
			keys = append(keys, output.Key{Target: change.Target, Path: change.Path})
		}
	}
	return keys, nil
}
