package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
)

// Rollback makes the managed files what they were after the deploy of a snapshot, whatever they are now:
// there is no plan, and edits of them are overwritten. It returns the id of its own snapshot, and a warning
// if there are files that it was to remove and could not see; else "".
func (d Deployer) Rollback(to string) (event, warning string, err error) {
	dir := d.Env.SnapshotDir()
	target, err := LoadSnapshot(dir, to)
	if err != nil {
		return "", "", err
	}
	if target.Kind == KindRollback {
		return "", "", fmt.Errorf("the snapshot %s is that of a rollback: roll back to %s instead, to which it went", to, target.RolledBackTo)
	}
	all, err := ListSnapshots(dir)
	if err != nil {
		return "", "", err
	}
	history, err := NewHistory(all)
	if err != nil {
		return "", "", err
	}
	event, err = NextSnapshotID(dir, d.Env.Now)
	if err != nil {
		return "", "", fault.IO(dir, err)
	}
	r := rollback{
		batch: newBatch(d.Env, event), to: target, from: Layout{Dir: dir, ID: to}, head: history.Head,
		dirs: manifestDirs(target, history.Head), applier: d.Applier(), reached: map[string]error{},
	}
	if err := r.collect(history); err != nil {
		return "", "", err
	}
	if err := r.addRecord(Snapshot{
		Kind: KindRollback, ID: event, CreatedAt: Timestamp(d.Env.Now), Targets: target.Targets, Files: target.Files,
		RolledBackTo: to, LockSHA256: target.LockSHA256,
	}); err != nil {
		return "", "", err
	}
	return event, r.warning(), r.applier.Apply(r.changes)
}

// rollback collects what a rollback does.
type rollback struct {
	*batch
	to          *Snapshot
	from        Layout // the places of to
	head        *Snapshot
	dirs        []output.Key // whose manifests one of the two has written
	applier     apply.Applier
	reached     map[string]error // what Applier.Reach has said of folders
	unreachable []string         // files that were to be removed, in folders that are not this process's
}

// warning names the files that it could not remove.
func (r *rollback) warning() string {
	if len(r.unreachable) == 0 {
		return ""
	}
	return "not removed, because their folders are not granted here, or not to write: " + strings.Join(r.unreachable, ", ") +
		"; what is there of these files stays as it is, and to call rollback again elsewhere does not remove it: do so by hand"
}

func (r *rollback) collect(history *History) error {
	kind, err := disk.Stat(r.from.States())
	switch {
	case err != nil:
		return fault.IO(r.from.States(), err)
	case kind == disk.Directory:
		return r.restoreState()
	case r.head.ID == r.to.ID:
		return nil // it holds, and there is no copy of it by which to repair anything
	}
	return r.revertChanges(history)
}

// toState puts back the copies of all that was wanted then, and removes what the deploy that holds now
// wanted besides.
func (r *rollback) restoreState() error {
	wanted := map[output.Key]bool{}
	for _, file := range r.to.Files {
		wanted[file.Key()] = true
		if err := r.addRestore(file.Key(), r.from.State(file.Key()), file.SHA256, true); err != nil {
			return err
		}
	}
	for _, change := range r.to.Changes {
		if output.IsManifest(filepath.Base(change.Path)) && (change.Op == OpCreate || change.Op == OpUpdate) {
			key := output.Key{Target: change.Target, Path: change.Path}
			if err := r.addRestore(key, r.from.State(key), change.After, false); err != nil {
				return err
			}
		}
	}
	for _, file := range r.head.Files {
		if !wanted[file.Key()] {
			if err := r.addRemoval(file.Key()); err != nil {
				return err
			}
		}
	}
	return nil
}

// stepByStep goes back from snapshot to snapshot, by what each has noted of its own changes. It is for those
// that older versions made.
func (r *rollback) revertChanges(history *History) error {
	since, err := history.Since(r.to.ID)
	if err != nil {
		return err
	}
	// Of several changes of a file the earliest tells what was there before all of them.
	earliest := map[output.Key]SnapshotChange{}
	var order []output.Key
	for _, s := range since {
		for _, change := range s.Changes {
			key := output.Key{Target: change.Target, Path: change.Path}
			if _, ok := earliest[key]; !ok {
				order = append(order, key)
			}
			earliest[key] = change
		}
	}
	for _, key := range order {
		change := earliest[key]
		switch {
		case change.BackupPath != "":
			err = r.addRestore(key, change.BackupPath, change.Before, true)
		case change.Op == OpCreate:
			err = r.addRemoval(key)
		default:
			err = fmt.Errorf("nothing was kept of what %s was before the change %q of it", key.Path, change.Op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// restore puts back a copy. Its sum must be the one noted; "" if none was.
func (r *rollback) addRestore(key output.Key, from, sum string, noted bool) error {
	if err := disk.RequireInside(r.env.SnapshotDir(), from); err != nil {
		return err
	}
	content, err := disk.Read(from, maxFile)
	if err != nil {
		return fmt.Errorf("the snapshot's copy of %s: %w", key.Path, err)
	}
	if sum != "" && disk.SumBytes(content) != sum {
		return fmt.Errorf("the snapshot's copy of %s, %s, was changed since it was made: nothing is rolled back", key.Path, from)
	}
	before, err := disk.SumFile(key.Path)
	if err != nil && !disk.IsMissing(err) {
		return fault.IO(key.Path, err)
	}
	after := disk.SumBytes(content)
	if noted {
		r.recorded = append(r.recorded, SnapshotChange{
			Target: key.Target, Op: OpRestore, Path: key.Path, BackupPath: from, Before: before, After: after,
		})
	}
	return r.addChange(apply.Change{Root: r.root(key), Path: key.Path, Before: before, After: content, Like: from}, after)
}

// remove removes a file if there is one.
func (r *rollback) addRemoval(key output.Key) error {
	kind, err := disk.Stat(key.Path)
	if err == nil && kind == disk.Absent {
		return r.checkRemoved(key.Path)
	}
	if err != nil || kind != disk.File {
		return fault.IO(key.Path, err) // a folder: what was deployed there is gone
	}
	before, err := disk.SumFile(key.Path)
	if err != nil {
		return fault.IO(key.Path, err)
	}
	if sum, ok := r.written[key.Path]; ok && sum != "" {
		return nil // another target's, which stays
	}
	r.recorded = append(r.recorded, SnapshotChange{Target: key.Target, Op: OpRemove, Path: key.Path, Before: before})
	return r.addChange(apply.Change{Root: r.root(key), Path: key.Path, Before: before, Delete: true}, "")
}

// gone notes a file that is not there, unless its folder tells that somebody has removed it.
func (r *rollback) checkRemoved(path string) error {
	dir := filepath.Dir(path)
	err, known := r.reached[dir]
	if !known {
		real, failed := disk.Resolve(dir)
		if failed != nil {
			return fault.IO(dir, failed)
		}
		err = r.applier.CheckWritable(real)
		r.reached[dir] = err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		r.unreachable = append(r.unreachable, path)
	case err != nil && !disk.IsMissing(err):
		return fault.IO(dir, err)
	}
	return nil
}

// root is the folder that a file must be in: the deepest one of its target whose manifest one of the two
// snapshots has written, else the file's own.
func (r *rollback) root(key output.Key) string {
	root := ""
	for _, dir := range r.dirs {
		if dir.Target == key.Target && disk.IsBelow(dir.Path, key.Path) && len(dir.Path) > len(root) {
			root = dir.Path
		}
	}
	if root == "" {
		return filepath.Dir(key.Path)
	}
	return root
}

// manifestFolders are the folders whose manifests snapshots have written.
func manifestDirs(snapshots ...*Snapshot) []output.Key {
	var dirs []output.Key
	for _, s := range snapshots {
		for _, change := range s.Changes {
			if dir := filepath.Dir(change.Path); output.IsManifest(filepath.Base(change.Path)) {
				dirs = append(dirs, output.Key{Target: change.Target, Path: dir})
			}
		}
	}
	slices.SortFunc(dirs, output.Key.Compare)
	return slices.Compact(dirs)
}
