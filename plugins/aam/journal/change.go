package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// ErrChanged reports that another program changed a file after it was read.
var ErrChanged = errors.New("was changed concurrently by another program; this call changed nothing: try again")

// Change is a transaction. It has no visible effect before Commit. After a method returns an error, only Abort may be
// called.
type Change struct {
	journal Journal
	changes []transaction.Change
	seen    map[string]bool
	keep    map[string]string // paths in the backup by the path of what is kept
	backups map[string]string // backup directories by root
}

// Begin starts a transaction, after ending an interrupted one.
func (j Journal) Begin() (*Change, error) {
	if err := j.Recover(); err != nil {
		return nil, err
	}
	return &Change{journal: j, seen: map[string]bool{}, keep: map[string]string{}, backups: map[string]string{}}, nil
}

// Keep makes the change of path that follows preserve the current content, and returns the path in the backup that it
// will have.
func (c *Change) Keep(path string) (string, error) {
	root, real, err := c.journal.root(path)
	if err != nil {
		return "", err
	}
	relative, err := filepath.Rel(root.Dir, path)
	if err != nil {
		return "", err
	}
	dir, err := c.backup(root)
	if err != nil {
		return "", err
	}
	c.keep[real] = filepath.Join(dir, relative)
	return c.keep[real], nil
}

// backup returns the directory of this transaction in the backup of a root. It does not exist yet.
func (c *Change) backup(root Root) (string, error) {
	if dir := c.backups[root.Dir]; dir != "" {
		return dir, nil
	}
	if _, _, err := c.journal.root(filepath.Join(root.Backup, c.journal.Stamp)); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		dir := filepath.Join(root.Backup, c.journal.Stamp)
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", dir, n)
		}
		exists, err := filesystem.Exists(c.journal.Files, dir)
		if err != nil {
			return "", err
		}
		if !exists {
			c.backups[root.Dir] = dir
			return dir, nil
		}
	}
}

// Tree replaces path by a directory or file, which fill creates at a staged path that does not exist. fill makes the
// content of files durable.
func (c *Change) Tree(path string, fill func(staged string) error) error {
	root, real, err := c.vacate(path)
	if err != nil {
		return err
	}
	if err := c.checkParents(root, path); err != nil {
		return err
	}
	staged := c.staged(root, "tree")
	if err := fill(staged); err != nil {
		return err
	}
	c.changes = append(c.changes, transaction.Change{Root: root.Dir, Path: real, From: staged})
	return c.syncDirs(staged)
}

// File replaces the content of a file, and keeps its permission bits. If its current content is not was (nil if it did not
// exist), Commit returns ErrChanged.
func (c *Change) File(path string, was, data []byte) error {
	root, real, err := c.add(path)
	if err != nil {
		return err
	}
	if err := c.checkParents(root, path); err != nil {
		return err
	}
	if to := c.keep[real]; to != "" && was != nil {
		c.changes = append(c.changes, transaction.Change{Root: root.Dir, Path: to, After: was, Like: real})
	}
	change := transaction.Change{Root: root.Dir, Path: real, After: data}
	if was != nil {
		change.Before = transaction.Digest(was)
	}
	info, err := c.journal.Files.Lstat(real)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", path)
	}
	c.changes = append(c.changes, change)
	return filesystem.IgnoreAbsent(err)
}

// Remove removes a file, or a directory recursively.
func (c *Change) Remove(path string) error {
	_, _, err := c.vacate(path)
	return err
}

// vacate moves path to the stage, or to the backup if it is to be kept, if it exists.
func (c *Change) vacate(path string) (Root, string, error) {
	root, real, err := c.add(path)
	if err != nil {
		return Root{}, "", err
	}
	exists, err := filesystem.Exists(c.journal.Files, real)
	if exists {
		to := c.keep[real]
		if to == "" {
			to = c.staged(root, "was")
		}
		c.changes = append(c.changes, transaction.Change{Root: root.Dir, Path: to, From: real})
	}
	return root, real, err
}

// staged returns a path in the stage that does not exist.
func (c *Change) staged(root Root, name string) string {
	return filepath.Join(root.Stage, fmt.Sprintf("%s.%d", name, len(c.changes)))
}

// add returns the root of a path and its target, and makes the stage.
func (c *Change) add(path string) (Root, string, error) {
	root, real, err := c.journal.root(path)
	if err == nil && c.seen[real] {
		err = fmt.Errorf("%s: the transaction already changes this path", path)
	}
	if err != nil {
		return Root{}, "", err
	}
	c.seen[real] = true
	return root, real, atomicfile.MkdirAll(root.Stage, atomicfile.Options{FS: c.journal.Files})
}

// checkParents returns an error if something that is not a directory is where one has to be.
func (c *Change) checkParents(root Root, path string) error {
	for dir := filepath.Dir(path); dir != root.Dir; dir = filepath.Dir(dir) {
		_, err := c.journal.Files.Lstat(dir)
		switch {
		case err == nil && !files.IsDir(c.journal.Files, dir):
			return &fs.PathError{Op: "put something into", Path: dir, Err: syscall.ENOTDIR}
		case err == nil:
			return nil
		case !filesystem.IsAbsent(err):
			return err
		}
	}
	return nil
}

// syncDirs makes the names in a staged directory durable.
func (c *Change) syncDirs(dir string) error {
	info, err := c.journal.Files.Lstat(dir)
	if err != nil || !info.IsDir() {
		return err
	}
	entries, err := c.journal.Files.ReadDir(dir)
	for _, entry := range entries {
		if err == nil && entry.IsDir() {
			err = c.syncDirs(filepath.Join(dir, entry.Name()))
		}
	}
	if err != nil {
		return err
	}
	return c.journal.Files.SyncDir(dir)
}

// Abort discards the transaction.
func (c *Change) Abort() error { return c.journal.clear() }

// Commit commits the transaction. After an error it has been rolled back; if that failed too, the next Begin or Recover
// does it.
func (c *Change) Commit() error {
	log, kept := c.journal.log(), false
	log.OnConflict = func(_, _ string) error {
		kept = true // the old content stays in the stage
		return nil
	}
	err := log.Apply(c.changes)
	if pending, failed := log.Pending(); kept || pending || failed != nil {
		return err
	}
	if cleared := c.journal.clear(); err != nil {
		return errors.Join(err, cleared)
	}
	// The transaction is committed. If leftovers cannot be removed now, the next one does it.
	return nil
}
