package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// journalDir is the directory in .chant that exists while a file is moved.
const journalDir = ".transaction"

// Move moves a file to the path "to", and creates missing directories. Both are in .chant. The error is ErrChanged if the Sum of the file's
// current content differs from "before", and fs.ErrExist if the path "to" already exists. If Move is interrupted, the file is at one of the
// paths, and Recover removes what else is left. The caller must hold a lock that excludes other calls that write.
func (d Dir) Move(from, to string, before Sum) error {
	return d.move(from, to, before, filesystem.OS{})
}

func (d Dir) move(from, to string, before Sum, fsys filesystem.FS) error {
	if err := unchanged(from, before); err != nil {
		return err
	}
	if isEmpty(to) { // versions without transactions left empty files and second copies in place of a file when they were killed
		if err := fsys.Remove(to); err != nil {
			return err
		}
	} else if unchanged(to, before) == nil {
		return removeFrom(fsys, from)
	}
	log, err := d.log(fsys)
	if err != nil {
		return err
	}
	links := contain.Resolver{FS: fsys}
	source, err := links.Resolve(filepath.Dir(from))
	if err != nil {
		return err
	}
	target, err := links.Resolve(filepath.Dir(to))
	if err != nil {
		return err
	}
	change := transaction.Change{
		Root: filepath.Dir(log.Dir), From: filepath.Join(source.Path, filepath.Base(from)), Path: filepath.Join(target.Path, filepath.Base(to)),
	}
	log.OnError = func(path string, err error) error {
		switch {
		case !errors.Is(err, transaction.ErrChanged):
			return err
		case path == change.Path:
			return fmt.Errorf("%s: %w", to, fs.ErrExist)
		}
		return fmt.Errorf("%s %w", from, ErrChanged)
	}
	err = log.Apply([]transaction.Change{change})
	return errors.Join(err, filesystem.RemoveEmpty(fsys, log.Dir))
}

// removeFrom removes the file at the path "from", of which there is a copy.
func removeFrom(fsys filesystem.FS, from string) error {
	if err := fsys.Remove(from); err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(from))
}

// log returns the log of moves in .chant.
func (d Dir) log(fsys filesystem.FS) (transaction.Log, error) {
	root, err := d.Real()
	return transaction.Log{FS: fsys, Dir: filepath.Join(root, journalDir), Prefix: ".chant-"}, err
}

// Recover completes or rolls back a Move that was interrupted, if it began before age. The caller must hold a lock that excludes other calls
// that write, or choose an age that no running call reaches.
func (d Dir) Recover(age time.Duration) error {
	log, err := d.log(filesystem.OS{})
	if err != nil {
		return err
	}
	info, err := log.FS.Lstat(log.Dir)
	if filesystem.IsAbsent(err) || err == nil && time.Since(info.ModTime()) < age {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := log.Recover(); err != nil {
		return err
	}
	return filesystem.RemoveEmpty(log.FS, log.Dir)
}
