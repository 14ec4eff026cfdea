package deploy

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// The copies of files in a snapshot take no part in the transaction: nothing reads them before the record of the snapshot
// exists, which the transaction writes. They are durable before the transaction begins. A marker beside their directory
// says that they belong to no snapshot yet, and the transaction removes it: copies with a marker are left from a call that
// failed or was killed, and the next call removes them.

// maxCopies is the maximum number of copies in one snapshot.
const maxCopies = 100_000

// markerPrefix begins the name of a marker; the id of the snapshot follows.
const markerPrefix = apply.TemporaryPrefix + "copies-"

// fileCopy is a new file in the directory of a snapshot. Unless like is "", it gets the mode of the file at the path like.
type fileCopy struct {
	path    string
	content []byte
	like    string
}

// apply writes the copies of a batch, and makes its changes and the extra ones in one transaction. After an error there
// are no copies, unless the transaction has to be recovered.
func (d Deployer) apply(b *batch, extra []transaction.Change) error {
	changes := append(b.changes, extra...)
	if len(b.copies) == 0 {
		return d.Applier().Apply(changes)
	}
	marker := filepath.Join(b.layout.Dir, markerPrefix+b.layout.ID)
	err := d.writeCopies(b, marker)
	if err == nil {
		err = d.Applier().Apply(append(changes, transaction.Change{Root: b.layout.Dir, Path: marker, Before: digest.Hex(nil), Delete: true}))
	}
	if err != nil {
		return errors.Join(err, d.abandonCopies())
	}
	return nil
}

// writeCopies durably writes the copies of a batch, in a new directory, and before them the marker.
func (d Deployer) writeCopies(b *batch, marker string) error {
	if len(b.copies) > maxCopies {
		return fmt.Errorf("the snapshot would have %d copies of files; at most %d are allowed", len(b.copies), maxCopies)
	}
	dir, err := d.resolvedSnapshotDir()
	if err == nil {
		err = atomicfile.MkdirAll(dir, atomicfile.Options{FS: d.FS})
	}
	if err != nil {
		return fault.IO(b.layout.Dir, err)
	}
	marker = filepath.Join(dir, filepath.Base(marker))
	if err := d.writeNew(fileCopy{path: marker}); err != nil {
		return fault.IO(marker, err)
	}
	created := []string{filepath.Join(dir, b.layout.ID)}
	if err := d.FS.Mkdir(created[0], 0o755); err != nil { // another program has chosen the same id: its directory must stay
		return fault.IO(created[0], errors.Join(err, d.FS.Remove(marker)))
	}
	if err := d.FS.SyncDir(dir); err != nil { // the marker is durable before any copy
		return fault.IO(dir, err)
	}
	for _, c := range b.copies {
		c.path = filepath.Join(dir, strings.TrimPrefix(c.path, b.layout.Dir))
		if created, err = d.mkdirs(created, filepath.Dir(c.path)); err == nil {
			err = d.writeNew(c)
		}
		if err != nil {
			return fault.IO(c.path, err)
		}
	}
	for _, made := range slices.Backward(created) {
		if err := d.FS.SyncDir(made); err != nil {
			return fault.IO(made, err)
		}
	}
	return nil
}

// resolvedSnapshotDir returns the directory of the snapshots with symbolic links resolved.
func (d Deployer) resolvedSnapshotDir() (string, error) {
	resolver := contain.Resolver{FS: d.FS}
	dir, err := resolver.Resolve(d.Env.SnapshotDir())
	return dir.Path, err
}

// mkdirs creates the directory dir and its ancestors, as far as they are not in created, and returns all created
// directories. The first one in created is an ancestor of dir.
func (d Deployer) mkdirs(created []string, dir string) ([]string, error) {
	if slices.Contains(created, dir) {
		return created, nil
	}
	created, err := d.mkdirs(created, filepath.Dir(dir))
	if err == nil {
		err = d.FS.Mkdir(dir, 0o755)
	}
	return append(created, dir), err
}

// writeNew durably writes a new file.
func (d Deployer) writeNew(c fileCopy) error {
	file, err := d.FS.Create(c.path, 0o644)
	if err != nil {
		return err
	}
	if c.like != "" {
		err = d.FS.CopyMode(c.like, c.path) // before the file has any content
	}
	if err == nil && len(c.content) > 0 {
		_, err = file.Write(c.content)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// abandonCopies removes the copies of a transaction that has failed. If a rollback has failed too, a recovery decides
// whether the transaction is committed, so the copies stay until then.
func (d Deployer) abandonCopies() error {
	if pending, err := d.Applier().Pending(); err != nil || pending {
		return err
	}
	return d.sweepCopies()
}

// sweepCopies removes the copies with a marker, and then the marker. No transaction must be pending.
func (d Deployer) sweepCopies() error {
	dir, err := d.resolvedSnapshotDir()
	if err != nil {
		return fault.IO(d.Env.SnapshotDir(), err)
	}
	entries, err := d.FS.ReadDir(dir)
	if err != nil {
		return fault.IO(dir, filesystem.IgnoreAbsent(err))
	}
	for _, entry := range entries {
		id, isMarker := strings.CutPrefix(entry.Name(), markerPrefix)
		if _, isID := parseID(id); !isMarker || !isID {
			continue
		}
		layout := Layout{dir, id}
		recorded, err := filesystem.Exists(d.FS, layout.Record())
		if err == nil && !recorded {
			if err = d.removeTree(filepath.Join(dir, id), maxDepth); err == nil {
				err = d.FS.SyncDir(dir) // the marker stays until the copies are durably removed
			}
		}
		if err == nil {
			err = d.FS.Remove(filepath.Join(dir, entry.Name()))
		}
		if err != nil {
			return fault.IO(filepath.Join(dir, entry.Name()), err)
		}
	}
	return nil
}

// maxDepth bounds the depth of the directories that sweepCopies removes; copies have three, see copyPath.
const maxDepth = 64

// removeTree removes a file, or a directory with everything in it, down to the given depth. It follows no symbolic link.
func (d Deployer) removeTree(path string, depth int) error {
	info, err := d.FS.Lstat(path)
	if err != nil {
		return filesystem.IgnoreAbsent(err)
	}
	if info.IsDir() && depth > 0 {
		entries, err := d.FS.ReadDir(path)
		if err != nil {
			return filesystem.IgnoreAbsent(err)
		}
		for _, entry := range entries {
			if err := d.removeTree(filepath.Join(path, entry.Name()), depth-1); err != nil {
				return err
			}
		}
	}
	if err := d.FS.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
