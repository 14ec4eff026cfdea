// Package deploy changes the files of a user. Deployer.Apply executes a plan, and Deployer.Rollback restores the state
// after an earlier deploy. Both write the files, the target manifests and a snapshot in one transaction. A call that
// writes must first call Deployer.Recover, which completes or rolls back the changes of an interrupted call.
package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// maxFile is the maximum size of a file that a deploy replaces or a rollback restores, in bytes.
const maxFile = 64 << 20

// Deployer changes the files in one home directory. The caller must hold a lock that excludes every other Deployer with
// the same data directory.
type Deployer struct {
	Env env.Env
	FS  filesystem.FS
}

// Request holds a plan to execute, and the desired state from which the plan was computed.
type Request struct {
	State      *output.State
	Plan       plan.Plan
	LockSHA256 *string // the SHA-256 of the lockfile; nil if there is no valid lockfile
	// Extra holds further changes for the same transaction, which the snapshot does not record.
	Extra []transaction.Change
}

// Applier returns an Applier with the journal in the data directory. All writers in the same home directory use this
// journal.
func (d Deployer) Applier() apply.Applier {
	return apply.New(d.FS, filepath.Join(d.Env.DataDir(), "state", "journal"))
}

// Recover completes or rolls back the changes of an interrupted call. The returned note tells the user which of the two
// Recover did; the note is "" if no call was interrupted. There may be a note together with an error.
func (d Deployer) Recover() (note string, err error) {
	report, err := d.Applier().Recover()
	if err != nil {
		return "", err
	}
	err = d.sweepCopies()
	if report.Outcome == transaction.Nothing {
		return "", err
	}
	note = "an earlier call was interrupted while it wrote; its changes are now completed"
	if report.Outcome == transaction.Undone {
		note = "an earlier call was interrupted while it wrote; its changes are now rolled back"
	}
	if len(report.Kept) > 0 {
		note += "; not restored, because another program has changed them since: " + strings.Join(report.Kept, ", ") +
			" (the old content of each is in the same directory, in a file whose name begins with .agentpack-tmp-)"
	}
	return note, err
}

// IsNoOp reports whether a deploy would change nothing. This is the case if the plan is empty and each root directory
// that has files also has a manifest.
func IsNoOp(state *output.State, planned plan.Plan) bool {
	if len(planned.Changes) > 0 {
		return false
	}
	var used []output.Root
	for root := range usedRoots(state) {
		used = append(used, root)
	}
	dirs, _ := output.ReadManifests(used) // the warnings are ignored, because plan.Prepare has already returned them
	for _, dir := range dirs {
		if !dir.Usable {
			return false
		}
	}
	return true
}

// usedRoots returns the set of root directories in which the state has files.
func usedRoots(state *output.State) map[output.Root]bool {
	used := map[output.Root]bool{}
	for _, file := range state.Files {
		if root, ok := state.Owner(file.Key); ok {
			used[root] = true
		}
	}
	return used
}

// Apply executes the plan and returns the id of the new snapshot. The error is transaction.ErrChanged if a file has
// changed since the plan was computed.
func (d Deployer) Apply(request Request) (id string, err error) {
	id, err = NextSnapshotID(d.Env.SnapshotDir(), d.Env.Now)
	if err != nil {
		return "", fault.IO(d.Env.SnapshotDir(), err)
	}
	b := newBatch(d.Env, id)
	for _, change := range request.Plan.Changes {
		if err := b.addPlanned(request.State, change); err != nil {
			return "", err
		}
	}
	if err := b.addManifests(request); err != nil {
		return "", err
	}
	record := Snapshot{
		Kind: KindDeploy, ID: id, CreatedAt: Timestamp(d.Env.Now), Targets: []string{},
		LockSHA256: request.LockSHA256, BackupRoot: b.layout.Backups(),
	}
	record.Targets = append(record.Targets, request.State.Targets()...)
	for _, file := range request.State.Files {
		b.addCopy(b.layout.State(file.Key), file.Content, "")
		record.Files = append(record.Files, SnapshotFile{Target: file.Target, Path: file.Path, SHA256: file.SHA256})
	}
	if err := b.addRecord(record); err != nil {
		return "", err
	}
	return id, d.apply(b, request.Extra)
}

// batch collects the changes that a deploy or rollback makes, the copies of files for the snapshot, and the records of
// these changes.
type batch struct {
	env      env.Env
	layout   Layout
	copies   []fileCopy
	changes  []transaction.Change
	recorded []SnapshotChange
}

func newBatch(at env.Env, id string) *batch {
	return &batch{env: at, layout: Layout{Dir: at.SnapshotDir(), ID: id}, recorded: []SnapshotChange{}}
}

// addCopy adds a copy of content to the snapshot, in a new file at path. Unless like is "", the new file gets the mode of
// the file at the path like.
func (b *batch) addCopy(path string, content []byte, like string) {
	b.copies = append(b.copies, fileCopy{path, content, like})
}

// addRecord adds the file with the snapshot's record as the last change of the batch. The record makes the copies a
// snapshot.
func (b *batch) addRecord(record Snapshot) error {
	record.Changes = b.recorded
	text, err := record.Encode()
	if err != nil {
		return err
	}
	b.changes = append(b.changes, transaction.Change{Root: b.env.SnapshotDir(), Path: b.layout.Record(), After: text})
	return nil
}

// addPlanned adds one change of the plan to the batch.
func (b *batch) addPlanned(state *output.State, change plan.Change) error {
	root := filepath.Dir(change.Path)
	if owner, ok := state.Owner(change.Key()); ok {
		root = owner.Path
	}
	var content []byte
	after := ""
	if change.Op != plan.Delete {
		file, ok := state.File(change.Key())
		if !ok || change.After == nil || file.SHA256 != *change.After {
			return fmt.Errorf("the plan does not match the desired state at %s: make a new plan", change.Path)
		}
		content, after = file.Content, file.SHA256
	}
	before := ""
	if change.Before != nil {
		before = *change.Before
	}
	return b.addWrite(root, SnapshotChange{Target: change.Target, Op: Op(change.Op), Path: change.Path, Before: before, After: after}, content)
}

// addWrite adds the recorded change of one file to the batch. It also adds a backup of the current content.
func (b *batch) addWrite(root string, recorded SnapshotChange, content []byte) error {
	key, before := output.Key{Target: recorded.Target, Path: recorded.Path}, recorded.Before
	if before != "" {
		current, err := disk.Read(key.Path, maxFile)
		if filesystem.IsAbsent(err) || err == nil && digest.Hex(current) != before {
			return fmt.Errorf("%s %w", key.Path, transaction.ErrChanged)
		}
		if err != nil {
			return fault.IO(key.Path, err)
		}
		if link, err := os.Readlink(key.Path); err == nil {
			recorded.BeforeLink = link
		}
		recorded.BackupPath = b.layout.Backup(key)
		// The backup gets the mode of the original file, so that no other users can read the backup.
		b.addCopy(recorded.BackupPath, current, key.Path)
	}
	b.recorded = append(b.recorded, recorded)
	b.changes = append(b.changes, transaction.Change{Root: root, Path: key.Path, Before: before, After: content, Delete: recorded.Op == OpDelete})
	return nil
}

// addManifests adds the manifest of each root directory that has desired files, contains files that the plan changes,
// or already has a manifest.
func (b *batch) addManifests(request Request) error {
	used := usedRoots(request.State)
	for _, change := range request.Plan.Changes {
		if root, ok := request.State.Owner(change.Key()); ok {
			used[root] = true
		}
	}
	for _, root := range request.State.Roots {
		key := output.Key{Target: root.Target, Path: output.ManifestPath(root)}
		before, err := disk.SumFile(key.Path)
		switch {
		case !used[root] && (filesystem.IsAbsent(err) || errors.Is(err, fs.ErrPermission)):
			continue
		case filesystem.IsAbsent(err):
			before = ""
		case err != nil:
			return fault.IO(key.Path, err)
		}
		text, err := output.NewManifest(request.State, root, b.layout.ID, b.env.Now).Encode()
		if err != nil {
			return err
		}
		op := OpCreate
		if before != "" {
			op = OpUpdate
		}
		if err := b.addWrite(root.Path, SnapshotChange{Target: key.Target, Op: op, Path: key.Path, Before: before, After: digest.Hex(text)}, text); err != nil {
			return err
		}
		b.addCopy(b.layout.State(key), text, "")
	}
	return nil
}
