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
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Rollback restores the managed files to their state after the deploy that recorded the snapshot with the id "to". It
// copies files that were edited since they were deployed to a new snapshot, and returns the id of that snapshot. The
// warnings name the copied files, and the files that Rollback could not remove because their directory is not
// accessible.
func (d Deployer) Rollback(to string) (event string, warnings []string, err error) {
	dir := d.Env.SnapshotDir()
	target, err := LoadSnapshot(dir, to)
	if err != nil {
		return "", nil, err
	}
	if target.Kind == KindRollback {
		return "", nil, fmt.Errorf("the snapshot %s was recorded by a rollback: roll back to %s instead, the snapshot that the rollback restored", to, target.RolledBackTo)
	}
	all, err := ListSnapshots(dir)
	if err != nil {
		return "", nil, err
	}
	history, err := NewHistory(all)
	if err != nil {
		return "", nil, err
	}
	for _, record := range all {
		if err := record.checkPaths(); err != nil {
			return "", nil, fmt.Errorf("the snapshot %s cannot be used: %w", record.ID, err)
		}
	}
	event, err = NextSnapshotID(dir, d.Env.Now)
	if err != nil {
		return "", nil, fault.IO(dir, err)
	}
	r := rollback{
		batch: newBatch(d.Env, event), to: target, from: Layout{Dir: dir, ID: to}, head: history.Head,
		dirs: manifestDirs(target, history.Head), applier: d.Applier(), reached: map[string]error{},
		links: replacedLinks(history, to), restored: map[string]bool{},
	}
	if err := r.collect(history); err != nil {
		return "", nil, err
	}
	if err := r.addRecord(Snapshot{
		Kind: KindRollback, ID: event, CreatedAt: Timestamp(d.Env.Now), Targets: target.Targets, Files: target.Files,
		RolledBackTo: to, LockSHA256: target.LockSHA256,
	}); err != nil {
		return "", nil, err
	}
	return event, append(r.kept, r.unremoved()...), d.apply(r.batch, nil)
}

// rollback collects the changes that a call of Rollback makes.
type rollback struct {
	*batch
	to          *Snapshot
	from        Layout // the layout of the snapshot to which the call rolls back
	head        *Snapshot
	dirs        []output.Key // the directories whose manifests the snapshots "to" and "head" wrote
	applier     apply.Applier
	reached     map[string]error      // cached results of transaction.CheckWritable; the key is a directory
	unreachable []string              // files that are not removed, because this process cannot write their directories
	sums        map[output.Key]string // the cached result of the method deployed
	links       map[output.Key]string // the targets of the symbolic links that existed at the time of the snapshot "to"
	restored    map[string]bool       // the paths of the files that the call restores
	kept        []string              // warnings about edited files that the call has copied
}

// unremoved returns a warning that names the files which could not be removed.
func (r *rollback) unremoved() []string {
	if len(r.unreachable) == 0 {
		return nil
	}
	return []string{"these files were not removed, because the plugin has no write access to their directories: " + strings.Join(r.unreachable, ", ") +
		"; later rollbacks do not remove them either: remove them by hand"}
}

func (r *rollback) collect(history *History) error {
	kind, err := disk.Stat(r.from.States())
	switch {
	case err != nil:
		return fault.IO(r.from.States(), err)
	case kind == disk.Directory:
		return r.restoreState()
	case r.head.ID == r.to.ID:
		return nil // the snapshot describes the current state, and has no copies from which files could be restored
	}
	return r.revertChanges(history)
}

// restoreState restores all files of which the snapshot has copies, and removes the files that only the current
// snapshot lists.
func (r *rollback) restoreState() error {
	wanted := map[output.Key]bool{}
	for _, file := range r.to.Files {
		wanted[file.Key()] = true
		if err := r.addRestore(file.Key(), r.from.State(file.Key()), file.SHA256); err != nil {
			return err
		}
	}
	for _, change := range r.to.Changes {
		if output.IsManifest(filepath.Base(change.Path)) && (change.Op == OpCreate || change.Op == OpUpdate) {
			key := output.Key{Target: change.Target, Path: change.Path}
			if err := r.addRestore(key, r.from.State(key), change.After); err != nil {
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

// revertChanges reverts the changes that the snapshots after the restored snapshot recorded. It is used for snapshots
// of older versions, which have no copies of the files after the deploy.
func (r *rollback) revertChanges(history *History) error {
	since, err := history.Since(r.to.ID)
	if err != nil {
		return err
	}
	// The backup of the earliest change of a file contains the content before all changes of that file.
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
		case change.BackupPath != "" && change.BeforeLink == "":
			err = r.addRestore(key, change.BackupPath, change.Before)
		case change.Op == OpCreate, change.BeforeLink != "":
			err = r.addRemoval(key)
		default:
			err = fmt.Errorf("the snapshots have no backup of %s from before its change %q: restore the file by hand", key.Path, change.Op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addRestore adds the restoration of a file from the copy at the path "from". Unless sum is "", the SHA-256 of the copy
// must equal sum.
func (r *rollback) addRestore(key output.Key, from, sum string) error {
	if err := disk.RequireInside(r.env.SnapshotDir(), from); err != nil {
		return err
	}
	content, err := disk.Read(from, maxFile)
	if err != nil {
		return fmt.Errorf("cannot read the snapshot's copy of %s: %w", key.Path, err)
	}
	if sum != "" && digest.Hex(content) != sum {
		return fmt.Errorf("the snapshot's copy of %s was changed since it was made: %s; nothing was rolled back", key.Path, from)
	}
	before, err := disk.SumFile(key.Path)
	if err != nil && !filesystem.IsAbsent(err) {
		return fault.IO(key.Path, err)
	}
	after := digest.Hex(content)
	if err := r.keep(key, before, after); err != nil {
		return err
	}
	r.recorded = append(r.recorded, SnapshotChange{
		Target: key.Target, Op: OpRestore, Path: key.Path, BackupPath: from, Before: before, After: after,
	})
	r.restored[key.Path] = true
	r.changes = append(r.changes, transaction.Change{Root: r.root(key), Path: key.Path, Before: before, After: content, Like: from})
	return nil
}

// addRemoval adds the removal of a file if the file exists. If a deploy has replaced a symbolic link with the file,
// addRemoval adds the restoration of the link.
func (r *rollback) addRemoval(key output.Key) error {
	link := r.links[key]
	kind, err := disk.Stat(key.Path)
	if err == nil && kind == disk.Absent && link == "" {
		return r.checkRemoved(key.Path)
	}
	if err != nil || kind != disk.File && kind != disk.Absent {
		return fault.IO(key.Path, err) // a directory has replaced the deployed file
	}
	before := ""
	if kind == disk.File {
		if before, err = disk.SumFile(key.Path); err != nil {
			return fault.IO(key.Path, err)
		}
	}
	if r.restored[key.Path] {
		return nil // the rollback writes this file for another target
	}
	if err := r.keep(key, before, ""); err != nil {
		return err
	}
	op := OpRemove
	if link != "" {
		op = OpRestore
	}
	r.recorded = append(r.recorded, SnapshotChange{Target: key.Target, Op: op, Path: key.Path, Before: before})
	r.changes = append(r.changes, transaction.Change{
		Root: r.root(key), Path: key.Path, Before: before, Delete: link == "", NoFollow: link != "", Link: link,
	})
	return nil
}

// replacedLinks returns the targets of the symbolic links that existed when the snapshot "to" was recorded, and that
// later deploys replaced or removed.
func replacedLinks(history *History, to string) map[output.Key]string {
	links := map[output.Key]string{}
	since, err := history.Since(to)
	if err != nil {
		return links // the state at that time is unknown, because the current snapshot does not descend from "to"
	}
	for _, s := range since { // the last one is the earliest
		for _, change := range s.Changes {
			links[output.Key{Target: change.Target, Path: change.Path}] = change.BeforeLink
		}
	}
	return links
}

// keep copies a file to the snapshot of the rollback if the file was edited since it was deployed and the rollback
// would discard the edit. The argument "before" is the SHA-256 of the current content, and "after" is that of the restored
// content.
func (r *rollback) keep(key output.Key, before, after string) error {
	if before == "" || before == after || before == r.deployed()[key] {
		return nil
	}
	content, err := disk.Read(key.Path, maxFile)
	if err != nil {
		return fmt.Errorf("cannot copy the edited file %s to the snapshot: %w", key.Path, err)
	}
	if digest.Hex(content) != before {
		return fmt.Errorf("%s %w", key.Path, transaction.ErrChanged)
	}
	copied := r.layout.Backup(key)
	r.addCopy(copied, content, key.Path)
	r.kept = append(r.kept, fmt.Sprintf("%s was edited since the deploy: its content is kept in %s", key.Path, copied))
	return nil
}

// deployed returns the SHA-256 of each file that the current snapshot lists.
func (r *rollback) deployed() map[output.Key]string {
	if r.sums == nil {
		r.sums = map[output.Key]string{}
		for _, change := range r.head.Changes {
			r.sums[output.Key{Target: change.Target, Path: change.Path}] = change.After
		}
		for _, file := range r.head.Files {
			r.sums[file.Key()] = file.SHA256
		}
	}
	return r.sums
}

// checkRemoved handles a file that seems not to exist. If the directory of the file is not accessible, the file may
// exist nevertheless, and checkRemoved records the file as unreachable.
func (r *rollback) checkRemoved(path string) error {
	dir := filepath.Dir(path)
	err, known := r.reached[dir]
	if !known {
		real, failed := disk.Resolve(dir)
		if failed != nil {
			return fault.IO(dir, failed)
		}
		err = transaction.CheckWritable(r.applier.FS, real)
		r.reached[dir] = err
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		r.unreachable = append(r.unreachable, path)
	case err != nil && !filesystem.IsAbsent(err):
		return fault.IO(dir, err)
	}
	return nil
}

// root returns the directory that must contain the file at key after symbolic links are resolved. This is the deepest
// directory in r.dirs that has the same target and contains the file, or else the parent directory of the file.
func (r *rollback) root(key output.Key) string {
	root := ""
	for _, dir := range r.dirs {
		if dir.Target == key.Target && contain.Below(dir.Path, key.Path) && len(dir.Path) > len(root) {
			root = dir.Path
		}
	}
	if root == "" {
		return filepath.Dir(key.Path)
	}
	return root
}

// manifestDirs returns the directories of the manifests that the snapshots changed.
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
