package transaction

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Outcome states how a recovery ended an interrupted transaction.
type Outcome string

// Values of Outcome.
const (
	Nothing  Outcome = ""         // no transaction was interrupted
	Finished Outcome = "finished" // the transaction was rolled forward: all files have their new state
	Undone   Outcome = "undone"   // the transaction was rolled back: all files have their old state
)

// Report states what Recover did. Kept lists the files that were not rolled back, because another program has changed them. If the
// transaction had switched such a file, its old content is in a temporary file beside it.
type Report struct {
	Outcome Outcome
	Kept    []string
}

// Recover ends an interrupted transaction. If all files were switched, it rolls the transaction forward; otherwise it rolls the transaction
// back. If Recover is interrupted too, it can be repeated. If it cannot read the journal, or if this process may not change the directories
// in the journal, it keeps the journal and returns an error.
func (l Log) Recover() (Report, error) {
	report, err := l.recover()
	if err == nil {
		err = l.sweep()
	}
	return report, l.convert(err)
}

func (l Log) recover() (Report, error) {
	state, err := l.state()
	if err != nil || state == "" {
		return Report{}, err
	}
	t, err := l.read(state)
	if filesystem.IsAbsent(err) { // another program, whose journal it was, has ended its transaction
		return Report{}, nil
	}
	if errors.Is(err, ErrTorn) && state == l.format().Staging {
		return Report{}, about(l.at(state), l.fsys().Remove(l.at(state)))
	}
	if err != nil {
		return Report{}, err
	}
	if err := t.checkWritable(l.at(state)); err != nil {
		return Report{}, err
	}
	switch f := t.format; {
	case state == f.Committed && state != f.Switching:
		return Report{Outcome: Finished}, t.tidy()
	case state == f.Staging && state != f.Switching:
		return Report{Outcome: Undone}, t.unstage(state, nil)
	}
	all, err := t.allSwitched()
	if err != nil {
		return Report{}, err
	}
	if !all {
		kept, err := t.rollBack(state)
		return Report{Outcome: Undone, Kept: kept}, err
	}
	if err := t.enter(state, t.format.Committed); err != nil {
		return Report{}, err
	}
	return Report{Outcome: Finished}, t.tidy()
}

// sweep removes journals that were never complete. It lists the directory first, since this process may not be allowed to write there.
func (l Log) sweep() error {
	return about(l.Dir, atomicfile.Sweep(l.Dir, 0, l.temporary(l.format())))
}

func (l Log) read(state string) (*run, error) {
	file := l.at(state)
	raw, err := filesystem.ReadFile(l.fsys(), file, maxJournal)
	if err != nil {
		return nil, about(file, err)
	}
	j, err := l.format().Decode(raw)
	if err == nil {
		err = j.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("%s, the journal of an interrupted transaction, cannot be used: %w; the files whose names begin with %s may contain old contents: restore what you need, then remove the journal", file, err, l.prefix())
	}
	return l.run(j), nil
}

// checkWritable returns an error unless this process may change all directories of a journal. In a sandbox, a directory that is not granted
// looks absent. It must not be treated as removed: its changes would stay, while all other changes are rolled back.
func (t *run) checkWritable(file string) error {
	checked := map[string]bool{}
	for _, s := range t.journal.Steps {
		dir := filepath.Dir(s.Path)
		if checked[dir] {
			continue
		}
		checked[dir] = true
		if err := CheckWritable(t.fs, dir); err != nil {
			return about(s.Path, fmt.Errorf("an interrupted transaction changed the directory %s, which cannot be accessed: %w; repeat the call where that directory is granted, for example in its project, or, if the directory no longer exists, remove %s", dir, err, file))
		}
	}
	return nil
}

// CheckWritable returns an error if this process may not change the directory dir. If dir does not exist, it checks the nearest existing
// ancestor.
func CheckWritable(fsys filesystem.FS, dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		_, err := fsys.Lstat(dir)
		if err == nil {
			return fsys.CheckWritable(dir)
		}
		if !filesystem.IsAbsent(err) || dir == filepath.Dir(dir) {
			return err
		}
	}
}

// allSwitched reports whether every step took effect. It checks the steps from the last to the first. A move that took effect proves that
// all earlier steps did too. If a step removes a file, that file, which is kept under another name, must have the expected content.
func (t *run) allSwitched() (bool, error) {
	for i, s := range slices.Backward(t.journal.Steps) {
		if s.From != "" {
			return t.isMoved(s)
		}
		now, err := t.digest(s.Path, s.NoFollow)
		if err == nil && now == s.After && s.After == "" {
			old, _ := t.format.Names(t.journal, i)
			var removed string
			removed, err = t.digest(old, s.NoFollow)
			if err == nil && removed != s.Before {
				return false, nil
			}
		}
		if err != nil || now != s.After {
			return false, about(s.Path, err)
		}
	}
	return true, nil
}

func (t *run) isMoved(s Step) (bool, error) {
	waits, err := filesystem.Exists(t.fs, s.From)
	if err != nil || waits {
		return false, about(s.From, err)
	}
	arrived, err := filesystem.Exists(t.fs, s.Path)
	return arrived, about(s.Path, err)
}

// rollBack returns everything to the old state, whatever the state of each step, and then removes the journal. It may be interrupted and
// repeated at any point. kept are the files that it kept because another program has changed them.
func (t *run) rollBack(state string) (kept []string, err error) {
	keep := map[int]bool{}
	for i, s := range slices.Backward(t.journal.Steps[:t.reached]) {
		theirs, err := t.undo(i, s)
		if err != nil {
			return kept, about(s.Path, err)
		}
		if theirs {
			kept = append(kept, s.Path)
			keep[i] = true
		}
	}
	slices.Sort(kept)
	return kept, t.unstage(state, keep)
}

// undo rolls one step back. If the file has neither the old nor the new content, another program has changed it. undo then keeps the file,
// and its old content under the second name, and returns true.
func (t *run) undo(i int, s Step) (theirs bool, err error) {
	if err := t.proveStep(s); err != nil {
		return !t.isOld(s), ignoreMoved(err)
	}
	if s.From != "" {
		moved, err := t.isMoved(s)
		if err != nil || !moved {
			return false, err
		}
		if err := t.prove(s.Root, filepath.Dir(s.From)); err != nil {
			return true, ignoreMoved(err)
		}
		return false, t.rename(s.Path, s.From)
	}
	old, fresh := t.format.Names(t.journal, i)
	now, err := t.digest(s.Path, s.NoFollow)
	if err != nil || now == s.Before {
		return false, err
	}
	waits, err := filesystem.Exists(t.fs, fresh)
	if err != nil || waits && !t.sameFile(fresh, s.Path) {
		return false, err // the file at s.Path has not been replaced
	}
	kept, err := filesystem.Exists(t.fs, old)
	switch {
	case err != nil:
		return false, err
	case now != s.After && kept && t.OnConflict != nil:
		return true, t.OnConflict(s.Path, old)
	case now != s.After, s.Before != "" && !kept:
		return true, nil
	}
	if err := t.proveStep(s); err != nil {
		return true, ignoreMoved(err)
	}
	if s.Before == "" {
		return false, t.remove(s.Path)
	}
	return false, t.rename(old, s.Path)
}

// isOld reports whether a step had not taken effect, so that there is nothing to roll back. It is called if a directory of the step is not
// as expected.
func (t *run) isOld(s Step) bool {
	if s.From != "" {
		waits, err := filesystem.Exists(t.fs, s.From)
		return err == nil && waits
	}
	exists, err := filesystem.Exists(t.fs, s.Path)
	return err == nil && !exists && s.Before == ""
}

// ignoreMoved drops errors about a directory that another program has moved or replaced. In such a directory nothing can be rolled back.
func ignoreMoved(err error) error {
	if errors.Is(err, ErrChanged) {
		return nil
	}
	return filesystem.IgnoreAbsent(err)
}

// unstage removes what staging has left, except the old contents of the steps in keep. Then it removes the journal.
func (t *run) unstage(state string, keep map[int]bool) error {
	if err := t.removeStaged(keep); err != nil {
		return err
	}
	for _, dir := range slices.Backward(t.journal.Folders) {
		if err := t.removeEmpty(dir); err != nil {
			return err
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.remove(t.at(state))
}

// removeStaged removes the temporary files, except the old contents of the steps in keep.
func (t *run) removeStaged(keep map[int]bool) error {
	for i, s := range t.journal.Steps {
		if t.switched && s.Before == "" {
			continue // there was no old content to keep
		}
		if err := t.proveStep(s); err != nil {
			if err := ignoreMoved(err); err != nil {
				return err
			}
			continue
		}
		old, fresh := t.format.Names(t.journal, i)
		if !t.switched {
			if err := t.remove(fresh); err != nil {
				return err
			}
		}
		if keep[i] {
			continue
		}
		if err := t.remove(old); err != nil {
			return err
		}
	}
	return nil
}

// tidy removes what a committed transaction has left. Then it removes the journal.
func (t *run) tidy() error {
	if err := t.removeStaged(nil); err != nil {
		return err
	}
	for _, s := range t.journal.Steps {
		for dir := filepath.Dir(s.Path); s.Prune && contain.Below(s.Root, dir); dir = filepath.Dir(dir) {
			if err := t.removeEmpty(dir); err != nil {
				return err
			}
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.remove(t.at(t.format.Committed))
}

// removeEmpty removes a directory, unless another program has put something into it or has replaced it with a symbolic link.
func (t *run) removeEmpty(dir string) error {
	t.touch(dir)
	return about(dir, filesystem.RemoveEmpty(t.fs, dir))
}
