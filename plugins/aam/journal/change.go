package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// ErrChanged reports that another program changed a file after it was read.
var ErrChanged = errors.New("was changed by another program meanwhile; nothing was changed, try again")

// Change is a transaction. It has no visible effect before Commit. After a method returns an error, only Abort may be
// called.
type Change struct {
	journal Journal
	record  record
	seen    map[string]bool
}

// Begin starts a transaction, after rolling back an interrupted one.
func (j Journal) Begin() (*Change, error) {
	if err := j.Recover(); err != nil {
		return nil, err
	}
	return &Change{journal: j, record: record{Format: format}, seen: map[string]bool{}}, nil
}

// Tree replaces path by a directory or file, which fill creates at a staged path that does not exist.
func (c *Change) Tree(path string, fill func(staged string) error) error {
	staged, _, err := c.add(step{Path: path, New: true})
	if err != nil {
		return err
	}
	return fill(staged)
}

// File replaces the content of a file, and keeps its permission bits. If its current content is not was (nil if it did not
// exist), the error is ErrChanged.
func (c *Change) File(path string, was, data []byte) error {
	s, err := c.stepFor(path, was)
	if err != nil {
		return err
	}
	staged, old, err := c.add(s)
	if err != nil {
		return err
	}
	if err := c.write(staged, data); err != nil || !s.Over {
		return err
	}
	if err := files.CopyFile(c.journal.Files, path, old); err != nil {
		return err
	}
	kept, err := files.Read(c.journal.Files, old, int64(len(was)))
	if errors.Is(err, files.ErrTooLarge) || err == nil && !bytes.Equal(kept, was) {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	if err != nil {
		return err
	}
	return files.CopyMode(c.journal.Files, path, staged)
}

// stepFor returns the step that replaces or creates a file.
func (c *Change) stepFor(path string, was []byte) (step, error) {
	info, err := c.journal.Files.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && was == nil:
		return step{Path: path, New: true, fresh: true}, nil
	case errors.Is(err, fs.ErrNotExist) || err == nil && info.Mode().IsRegular() && was == nil:
		return step{}, fmt.Errorf("%s %w", path, ErrChanged)
	case err != nil:
		return step{}, err
	case !info.Mode().IsRegular():
		return step{}, fmt.Errorf("%s: not a regular file", path)
	}
	return step{Path: path, New: true, Over: true}, nil
}

// Remove removes a file, or a directory recursively.
func (c *Change) Remove(path string) error {
	_, _, err := c.add(step{Path: path})
	return err
}

// add adds a step, and returns the staged paths of its new and old content.
func (c *Change) add(s step) (staged, old string, err error) {
	root, err := c.journal.root(s.Path)
	if err != nil {
		return "", "", err
	}
	if c.seen[s.Path] {
		return "", "", fmt.Errorf("%s: changed twice", s.Path)
	}
	c.seen[s.Path] = true
	if err := c.makeDirs(root.Stage); err != nil {
		return "", "", err
	}
	staged, old = root.staged(len(c.record.Steps))
	c.record.Steps = append(c.record.Steps, s)
	return staged, old, nil
}

// makeDirs creates a stage with its parents.
func (c *Change) makeDirs(stage string) error { return files.MkdirAll(c.journal.Files, stage) }

func (c *Change) write(path string, data []byte) error {
	file, err := c.journal.Files.Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// Abort discards the transaction.
func (c *Change) Abort() error { return c.journal.clear() }

// Commit commits the transaction. After an error it has been rolled back; if that failed too, the next Begin or Recover
// does it.
func (c *Change) Commit() error {
	if len(c.record.Steps) == 0 {
		return nil
	}
	if err := c.planParents(); err != nil {
		return errors.Join(err, c.Abort())
	}
	if err := c.perform(); err != nil {
		if undo := c.journal.undo(c.record); undo != nil {
			return fmt.Errorf("%w (and this could not be undone yet: %w)", err, undo)
		}
		return err
	}
	// The transaction is committed. If leftovers cannot be removed now, the next one does it.
	_ = c.journal.clear()
	return nil
}

// perform writes the record, takes the steps, and removes the record, which commits the transaction.
func (c *Change) perform() error {
	data, err := json.Marshal(c.record)
	if err != nil {
		return err
	}
	if len(data) > maxRecord {
		return fmt.Errorf("too many files are changed at once: %d", len(c.record.Steps))
	}
	if err := c.makeDirs(c.journal.Roots[0].Stage); err != nil {
		return err
	}
	if err := files.Replace(c.journal.Files, c.journal.recordPath(), data); err != nil {
		return err
	}
	for _, dir := range c.record.Made {
		if err := c.journal.Files.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for i, s := range c.record.Steps {
		if err := c.journal.take(i, s); err != nil {
			return err
		}
	}
	return c.journal.Files.Remove(c.journal.recordPath())
}

// take takes one step.
func (j Journal) take(i int, s step) error {
	root, err := j.root(s.Path)
	if err != nil {
		return err
	}
	coming, old := root.staged(i)
	if s.fresh {
		exists, err := files.Exists(j.Files, s.Path)
		if err != nil {
			return err
		}
		if exists {
			return fmt.Errorf("%s %w", s.Path, ErrChanged)
		}
	} else if !s.Over {
		if err := j.Files.Rename(s.Path, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if s.New {
		return j.Files.Rename(coming, s.Path)
	}
	return nil
}

// planParents records the missing parent directories of new paths.
func (c *Change) planParents() error {
	planned := map[string]bool{}
	for _, s := range c.record.Steps {
		if !s.New {
			continue
		}
		root, err := c.journal.root(s.Path)
		if err != nil {
			return err
		}
		var missing []string
		for dir := filepath.Dir(s.Path); dir != root.Dir && !planned[dir]; dir = filepath.Dir(dir) {
			_, err := c.journal.Files.Lstat(dir)
			switch {
			case err == nil && !files.IsDir(c.journal.Files, dir):
				return &fs.PathError{Op: "put something into", Path: dir, Err: syscall.ENOTDIR}
			case err != nil && !files.Absent(err):
				return err
			}
			if err == nil {
				break
			}
			planned[dir] = true
			missing = append(missing, dir)
		}
		for i := len(missing) - 1; i >= 0; i-- {
			c.record.Made = append(c.record.Made, missing[i])
		}
	}
	return nil
}
