// Package apply changes many files, all of them or none. Applier.Apply is the call to start with; where it
// was stopped midway, Applier.Recover in a later call finishes it or undoes it.
//
// How that holds at every instruction:
//
//   - First all is looked at: that each file is as expected, and lies in its root once links are followed.
//   - A journal says which files it is about. Then new contents are laid beside their destinations, and
//     what is to be replaced gets a second name there. All that can run out of space has now run out of it.
//   - The journal is renamed, and each file is looked at once more and switched by a rename.
//   - The journal is renamed again, and from then on the new state holds. Second names and journal go.
//
// To undo takes renames and removals only, so a full disk cannot prevent it. A file that somebody else
// changed meanwhile is not overwritten: not by a switch, and not by undoing one. Between the last look at a
// file and the rename that replaces it nothing can see a change; a new file and a removed one have not even
// that gap.
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

// Change is one file that is written or removed.
type Change struct {
	Root   string // the folder that the file must be in, once all links are followed; absolute
	Path   string // absolute
	Before string // the SHA-256 of what is there now, in hexadecimal; "" says that nothing is
	After  []byte // what is to be there; a file that is there is overwritten only if Before is its sum
	Delete bool   // the file is removed, and After is not looked at
	Like   string // the file whose mode a file that is made gets; "" for an ordinary one
}

// Applier applies changes. Whoever calls it holds a lock against all others that have the same Dir.
type Applier struct {
	FS  FS
	Dir string // the journal's folder, absolute; it is made if it is not there
}

var (
	// ErrChanged says that a file is not as the change expects it. Nothing of the apply is left.
	ErrChanged = errors.New("was changed by another program; nothing was written")
	// ErrPending says that an apply was stopped midway. Recover comes first.
	ErrPending = errors.New("an earlier apply was stopped midway and is to be finished or undone first")
)

// Apply makes all changes, or none and returns an error: ErrChanged for a file that is not as expected, a
// fault for a path that leads out of its root or cannot be written. If undoing fails, too, the error says
// so, and Recover tries again.
//
// Missing folders are made. A change of a link writes what it leads to; a removal removes the link itself.
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
	// The new state holds. What cannot be tidied up now, the next call's Recover tidies up.
	_ = a.cleanUp(transaction.journal)
	return nil
}

// transaction is a journal, and what is only known while its apply runs.
type transaction struct {
	journal  *journal
	contents [][]byte // of the steps that write
	likes    []string // of the steps that make a file
}

// check looks at everything before anything is changed. A change of a file to what it is, is left out.
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
		if err := a.expect(s.Path, s.Before); err != nil {
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
	t.journal.Folders = r.missing
	return t, nil
}

// expect returns an error unless the content of a file has a sum; for "", unless nothing is there.
func (a Applier) expect(path, sum string) error {
	now, err := a.sum(path)
	if err != nil {
		return fault.IO(path, err)
	}
	if now != sum {
		return fmt.Errorf("%s %w", path, ErrChanged)
	}
	return nil
}

// sum is the sum of a file's content; "" if nothing is there.
func (a Applier) sum(path string) (string, error) {
	if _, err := a.FS.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	content, err := a.FS.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is a link that leads nowhere: remove it", path)
	}
	if err != nil {
		return "", err
	}
	return disk.SumBytes(content), nil
}

// stage makes the missing folders, and lays new contents and second names beside the destinations.
func (a Applier) stage(t *transaction) error {
	for _, folder := range t.journal.Folders {
		if err := a.checkDir(t.journal.root(folder), filepath.Dir(folder)); err != nil {
			return err
		}
		if err := a.FS.Mkdir(folder); err != nil && !errors.Is(err, fs.ErrExist) {
			return fault.IO(folder, err)
		}
	}
	for i, s := range t.journal.Steps {
		if err := a.stageStep(s, t.journal.temporary(i), t.contents[i], t.likes[i]); err != nil {
			return fault.IO(s.Path, err)
		}
	}
	return nil
}

func (a Applier) stageStep(s step, temporary names, content []byte, like string) error {
	if s.After == "" {
		return nil // a removed file gets its second name by the switch itself
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
		return fmt.Errorf("%s: what was written is not what is there", temporary.new)
	}
	return nil
}

// secondName gives the old file another name: where a file has one name only, by a copy.
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

// proveStep proves the folder of a step's file.
func (a Applier) checkStepDir(s step) error { return a.checkDir(s.Root, filepath.Dir(s.Path)) }

// prove returns an error if, by now, a link is among the folders from a root down to a folder, which had no
// links when the apply began. It comes before each write, with no more between the two than the look whether
// the file is as expected.
func (a Applier) checkDir(root, folder string) error {
	for ; disk.IsBelow(root, folder); folder = filepath.Dir(folder) {
		info, err := a.FS.Lstat(folder)
		if err != nil {
			return fault.IO(folder, err)
		}
		if !info.IsDir() {
			return fmt.Errorf("%s %w", folder, ErrChanged)
		}
	}
	return nil
}
