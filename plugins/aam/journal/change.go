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

// ErrChanged is the error for a file that another program has changed since this call read the file.
var ErrChanged = errors.New("was changed concurrently by another program; this call changed nothing: try again")

// Change is a transaction. It has no visible effect before Commit. After a method has returned an error, the caller may
// only call Abort.
type Change struct {
	journal Journal
	changes []transaction.Change
	seen    map[string]bool
	keep    map[string]string // paths in the backup; the key is the original path of the kept content
	backups map[string]string // backup directories of this transaction; the key is the directory of the root
}

// Begin completes or rolls back an interrupted transaction, and starts a new transaction.
func (j Journal) Begin() (*Change, error) {
	if err := j.Recover(); err != nil {
		return nil, err
	}
	return &Change{journal: j, seen: map[string]bool{}, keep: map[string]string{}, backups: map[string]string{}}, nil
}

// Keep makes the next change of path move the current content to the backup. It returns the path that this content will
// have in the backup.
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

// backup returns the directory of this transaction in the backup of a root. That directory does not exist yet.
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

// Tree replaces the file or directory at path by a new one. It calls fill with a staged path that does not exist. At
// the staged path, fill must create the new directory or file, and must sync the content of files.
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
	return files.Walk(c.journal.Files, staged, func(path string, isDir bool) error {
		if !isDir {
			return nil
		}
		return c.journal.Files.SyncDir(path)
	})
}

// File replaces the content of the file at path, and keeps the permission bits of the file. The argument "was" is the
// content that the file must have at the commit, or nil if the file must not exist. If the file differs, Commit returns
// ErrChanged.
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

// Remove removes the file at path, or the directory at path recursively.
func (c *Change) Remove(path string) error {
	_, _, err := c.vacate(path)
	return err
}

// vacate moves the file or directory at path, if it exists, to the stage. If Keep was called for path, vacate moves it
// to the backup instead.
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

// staged returns a path in the stage at which no file exists.
func (c *Change) staged(root Root, name string) string {
	return filepath.Join(root.Stage, fmt.Sprintf("%s.%d", name, len(c.changes)))
}

// add returns the root of path and the resolved path. It creates the stage of that root.
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

// checkParents returns an error if an ancestor of path below the root exists and is not a directory.
func (c *Change) checkParents(root Root, path string) error {
	for dir := filepath.Dir(path); dir != root.Dir; dir = filepath.Dir(dir) {
		_, err := c.journal.Files.Lstat(dir)
		switch {
		case err == nil && !files.IsDir(c.journal.Files, dir):
			return &fs.PathError{Op: "create an entry in", Path: dir, Err: syscall.ENOTDIR}
		case err == nil:
			return nil
		case !filesystem.IsAbsent(err):
			return err
		}
	}
	return nil
}

// Abort discards the transaction.
func (c *Change) Abort() error { return c.journal.clear() }

// Commit commits the transaction. If Commit returns an error, the transaction is rolled back. If the rollback fails,
// too, the next Begin or Recover repeats the rollback.
func (c *Change) Commit() error {
	log, kept := c.journal.log(), false
	log.OnConflict = func(_, _ string) error {
		kept = true // the stage must keep the old content of a file that another program has changed
		return nil
	}
	err := log.Apply(c.changes)
	if pending, failed := log.Pending(); kept || pending || failed != nil {
		return err
	}
	if cleared := c.journal.clear(); err != nil {
		return errors.Join(err, cleared)
	}
	// The transaction is committed. If files in the stages cannot be removed now, the next transaction removes them.
	return nil
}
