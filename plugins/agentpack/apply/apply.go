// Package apply changes several files in one transaction. Call Applier.Apply; after an interrupted Apply,
// Applier.Recover in a later call finishes it or rolls it back.
//
// A transaction has these steps, and may be killed at any instruction:
//
//   - Check every change: each file has the expected content and, with symbolic links resolved, lies in its
//     root.
//   - Write the journal in state staging. Then write each new content to a temporary file beside its
//     destination,
//     and keep each old content under a temporary name. Everything that can run out of space happens here.
//   - Rename the journal to state switching. Check each file once more and replace it by a rename.
//   - Rename the journal to state committed: the transaction is committed. Remove temporary files and
//     journal.
//
// Rolling back takes only renames and removals, so a full disk cannot prevent it. Neither a switch nor a roll
// back overwrites a file that another program has changed in the meantime. One race remains: a change between
// the last check of a file and the rename that replaces it is not detected. Creating and removing a file do
// not have it.
package apply

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Change writes or removes one file.
type Change struct {
	Root   string // absolute directory that must hold the file after symbolic links are resolved
	Path   string // absolute
	Before string // SHA-256 of the current content, in hexadecimal; "" if the file does not exist
	After  []byte // new content; an existing file is overwritten only if its sum is Before
	Delete bool   // remove the file; After is ignored
	Like   string // file whose mode a created file gets; "" for the default mode
}

// Applier applies changes. The caller holds a lock that excludes every other Applier with the same Dir.
type Applier struct {
	FS  FS
	Dir string // directory of the journal, absolute; created if it does not exist
}

var (
	// ErrChanged means that a file does not have the expected content. The transaction was rolled back.
	ErrChanged = errors.New("was changed by another program; nothing was written")
	// ErrPending means that an Apply was interrupted. Call Recover first.
	ErrPending = errors.New("an earlier apply was interrupted and must be recovered first")
)

// Apply makes all changes, or none and returns an error: ErrChanged for a file with unexpected content, a
// fault for a path outside its root or one that cannot be written. If rolling back fails as well, the error
// says so, and Recover tries again.
//
// Missing directories are created. Changing a symbolic link writes its target; removing it removes the link.
func (a Applier) Apply(changes []Change) error {
	pending, err := a.Pending()
	if err != nil {
		return err
	}
	if pending {
		return ErrPending
	}
	transaction, err := a.check(changes)
	if err != nil || len(transaction.journal.Steps) == 0 {
		return err
	}
	if err := a.record(transaction.journal); err != nil {
		return err
	}
	if err := a.stage(transaction); err != nil {
		return a.unstage(transaction.journal, staging).wrap(err)
	}
	if err := a.setState(staging, switching); err != nil {
		return a.unstage(transaction.journal, staging).wrap(err)
	}
	if err := a.switchAll(transaction.journal); err != nil {
		return a.rollBack(transaction.journal).wrap(err)
	}
	if err := a.setState(switching, committed); err != nil {
		return a.rollBack(transaction.journal).wrap(err)
	}
	// The transaction is committed. What cannot be removed now is removed by the next Recover.
	_ = a.cleanUp(transaction.journal)
	return nil
}

// transaction is a journal with the data that exists only while its Apply runs.
type transaction struct {
	journal  *journal
	contents [][]byte // by step; nil for a removal
	likes    []string // by step; used for created files
}

// check validates all changes before anything is written. It drops changes that have no effect.
func (a Applier) check(changes []Change) (*transaction, error) {
	id := make([]byte, 8)
	rand.Read(id)
	t := &transaction{journal: &journal{Version: journalVersion, ID: hex.EncodeToString(id)}}
	r := resolver{fs: a.FS}
	seen := map[string]bool{}
	for _, change := range changes {
		s, err := r.step(change)
		if err != nil {
			return nil, err
		}
		if err := a.requireSum(s.Path, s.Before); err != nil {
			return nil, err
		}
		if s.Before == s.After {
			continue
		}
		if seen[s.Path] {
			return nil, fmt.Errorf("%s would be written twice", s.Path)
		}
		seen[s.Path] = true
		t.journal.Steps = append(t.journal.Steps, s)
		t.contents = append(t.contents, change.After)
		t.likes = append(t.likes, change.Like)
	}
	t.journal.Dirs = r.missing
	return t, nil
}

// requireSum returns an error unless the content of path has the sum; with "", unless path does not exist.
func (a Applier) requireSum(path, sum string) error {
	now, err := a.sum(path)
	if err != nil {
		return fault.IO(path, err)
	}
	if now != sum {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return nil
}

// sum returns the sum of a file's content; "" if it does not exist.
func (a Applier) sum(path string) (string, error) {
	if _, err := a.FS.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	content, err := a.FS.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is a dangling symbolic link: remove it", path)
	}
	if err != nil {
		return "", err
	}
	return disk.SumBytes(content), nil
}

// stage creates missing directories and writes the temporary files beside the destinations.
func (a Applier) stage(t *transaction) error {
	for _, dir := range t.journal.Dirs {
		if err := a.checkDir(t.journal.root(dir), filepath.Dir(dir)); err != nil {
			return err
		}
		if err := a.FS.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return fault.IO(dir, err)
		}
	}
	for i, s := range t.journal.Steps {
		if err := a.stageStep(s, t.journal.temporary(i), t.contents[i], t.likes[i]); err != nil {
			return fault.IO(s.Path, err)
		}
	}
	return nil
}

func (a Applier) stageStep(s step, temporary temporaryNames, content []byte, like string) error {
	if s.After == "" {
		return nil // switchStep moves a removed file to its temporary name
	}
	if s.Before != "" {
		like = s.Path
		if err := a.keepOld(s, temporary.old); err != nil {
			return err
		}
	}
	if err := a.checkStepDir(s); err != nil {
		return err
	}
	if err := a.FS.WriteNew(temporary.new, content, like); err != nil {
		return err
	}
	written, err := a.FS.ReadFile(temporary.new)
	if err != nil {
		return err
	}
	if disk.SumBytes(written) != s.After {
		return fmt.Errorf("%s: the content read back differs from the content written", temporary.new)
	}
	return nil
}

// keepOld keeps the old file under a second name: by a hard link, or by a copy where there are none.
func (a Applier) keepOld(s step, name string) error {
	if err := a.checkStepDir(s); err != nil {
		return err
	}
	if a.FS.Link(s.Path, name) == nil {
		return nil
	}
	content, err := a.FS.ReadFile(s.Path)
	if err != nil {
		return err
	}
	if err := a.checkStepDir(s); err != nil {
		return err
	}
	return a.FS.WriteNew(name, content, s.Path)
}

// checkStepDir calls checkDir for the directory of a step's file.
func (a Applier) checkStepDir(s step) error { return a.checkDir(s.Root, filepath.Dir(s.Path)) }

// checkDir returns an error if a directory from root down to dir has become a symbolic link since check
// resolved it. It is called before each write; only the check of the file's content comes between the two.
func (a Applier) checkDir(root, dir string) error {
	for ; disk.IsBelow(root, dir); dir = filepath.Dir(dir) {
		info, err := a.FS.Lstat(dir)
		if err != nil {
			return fault.IO(dir, err)
		}
		if !info.IsDir() {
			return fmt.Errorf("%s %w", dir, ErrChanged)
		}
	}
	return nil
}
