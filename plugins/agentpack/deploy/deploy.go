// Package deploy carries out plans and rolls them back. Deployer.Apply makes the files what a plan says,
// Deployer.Rollback makes them what an earlier deploy left; each writes manifests and a snapshot as well,
// and all of that happens whole or not at all. Deployer.Recover comes first in every call that writes: it
// finishes or undoes what an earlier call was stopped in.
package deploy

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
)

// maxFile is the largest file that is replaced or put back, in bytes.
const maxFile = 64 << 20

// Deployer carries out. Whoever calls it holds a lock against all others that have the same data folder.
type Deployer struct {
	Env env.Env
	FS  apply.FS
}

// Request is what to carry out: a plan, and the state that it was made of.
type Request struct {
	State      *output.State
	Plan       plan.Plan
	LockSHA256 *string // the sum of the lockfile; nil if there is none
	// More is written together with the plan, whole or not at all like it, and is in no record.
	Extra []apply.Change
}

// Applier is what writes for the deployer, and for others that write into the same home.
func (d Deployer) Applier() apply.Applier {
	return apply.Applier{FS: d.FS, Dir: filepath.Join(d.Env.DataDir(), "state", "journal")}
}

// Recover finishes or undoes what an earlier call was stopped in, and says so; "" if none was.
func (d Deployer) Recover() (note string, err error) {
	report, err := d.Applier().Recover()
	if err != nil || report.Outcome == apply.None {
		return "", err
	}
	note = "an earlier call was stopped while it wrote; what it had begun was now " + string(report.Outcome)
	if len(report.Kept) > 0 {
		note += "; not put back, because another program has changed them since: " + strings.Join(report.Kept, ", ") +
			" (what they were is beside them, in files whose names begin with .agentpack-tmp-)"
	}
	return note, nil
}

// NothingToDo tells whether a deploy would change nothing: the plan is empty, and each folder that has files
// has a manifest already.
func NothingToDo(state *output.State, planned plan.Plan) bool {
	if len(planned.Changes) > 0 {
		return false
	}
	var used []output.Root
	for root := range usedRoots(state) {
		used = append(used, root)
	}
	dirs, _ := output.ReadManifests(used) // its warnings were given when the plan was made
	for _, dir := range dirs {
		if !dir.Usable {
			return false
		}
	}
	return true
}

// owners are the folders that have files.
func usedRoots(state *output.State) map[output.Root]bool {
	used := map[output.Root]bool{}
	for _, file := range state.Files {
		if root, ok := state.Owner(file.Key); ok {
			used[root] = true
		}
	}
	return used
}

// Apply makes the files what the plan says, and nothing else. A file that is not as the plan has it is
// apply.ErrChanged. It returns the id of the snapshot.
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
		b.addCopy(b.layout.State(file.Key), file.Content)
		record.Files = append(record.Files, SnapshotFile{Target: file.Target, Path: file.Path, SHA256: file.SHA256})
	}
	if err := b.addRecord(record); err != nil {
		return "", err
	}
	return id, d.Applier().Apply(append(b.changes, request.Extra...))
}

// batch collects the changes of a deploy or rollback, and the record of them.
type batch struct {
	env      env.Env
	layout   Layout
	changes  []apply.Change
	recorded []SnapshotChange
	written  map[string]string // the sum of what is to be at each path; "" for nothing
}

func newBatch(at env.Env, id string) *batch {
	return &batch{env: at, layout: Layout{Dir: at.SnapshotDir(), ID: id}, recorded: []SnapshotChange{}, written: map[string]string{}}
}

// keep adds a file of the snapshot's own.
func (b *batch) addCopy(path string, content []byte) {
	b.changes = append(b.changes, apply.Change{Root: b.env.SnapshotDir(), Path: path, After: content})
}

// record adds the record itself, as the last change.
func (b *batch) addRecord(record Snapshot) error {
	record.Changes = b.recorded
	text, err := record.Encode()
	if err != nil {
		return err
	}
	b.addCopy(b.layout.Record(), text)
	return nil
}

// planned adds a change of the plan.
func (b *batch) addPlanned(state *output.State, change plan.Change) error {
	root := filepath.Dir(change.Path)
	if owner, ok := state.Owner(change.Key()); ok {
		root = owner.Path
	}
	var content []byte
	if change.Op != plan.Delete {
		file, ok := state.File(change.Key())
		if !ok || change.After == nil || file.SHA256 != *change.After {
			return fmt.Errorf("the plan and the state that it was made of differ at %s", change.Path)
		}
		content = file.Content
	}
	before := ""
	if change.Before != nil {
		before = *change.Before
	}
	return b.addWrite(root, change.Key(), Op(change.Op), before, content)
}

// write adds a change of one file, with a copy of what is there now. Content is nil if it is removed.
func (b *batch) addWrite(root string, key output.Key, op Op, before string, content []byte) error {
	done := SnapshotChange{Target: key.Target, Op: op, Path: key.Path, Before: before}
	if op != OpDelete {
		done.After = disk.SumBytes(content)
	}
	if before != "" {
		now, err := disk.Read(key.Path, maxFile)
		if disk.IsMissing(err) || err == nil && disk.SumBytes(now) != before {
			return fmt.Errorf("%s %w", key.Path, apply.ErrChanged)
		}
		if err != nil {
			return fault.IO(key.Path, err)
		}
		done.BackupPath = b.layout.Backup(key)
		// What others cannot read they cannot read in the copy of it either.
		b.changes = append(b.changes, apply.Change{Root: b.env.SnapshotDir(), Path: done.BackupPath, After: now, Like: key.Path})
	}
	b.recorded = append(b.recorded, done)
	return b.addChange(apply.Change{Root: root, Path: key.Path, Before: before, After: content, Delete: op == OpDelete}, done.After)
}

// change adds a change unless another target wants the same one.
func (b *batch) addChange(change apply.Change, after string) error {
	if other, ok := b.written[change.Path]; ok {
		if other != after {
			return fmt.Errorf("two targets want different contents for %s: leave one of them out, or move one of their folders", change.Path)
		}
		return nil
	}
	b.written[change.Path] = after
	b.changes = append(b.changes, change)
	return nil
}

// manifests adds the manifest of each folder that has files, that the plan touches, or that has one already.
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
		case disk.IsMissing(err) && !used[root]:
			continue
		case disk.IsMissing(err):
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
		if err := b.addWrite(root.Path, key, op, before, text); err != nil {
			return err
		}
		b.addCopy(b.layout.State(key), text)
	}
	return nil
}
