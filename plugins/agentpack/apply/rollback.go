package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// undoResult is the result of rolling back.
type undoResult struct {
	kept []string // files left as another program has changed them
	err  error    // why rolling back stopped; the next Recover continues
}

// wrap adds to the error that ended an Apply what could not be rolled back.
func (u undoResult) wrap(why error) error {
	if len(u.kept) > 0 {
		why = fmt.Errorf("%w; not restored, because another program has changed them since: %s", why, strings.Join(u.kept, ", "))
	}
	if u.err != nil {
		why = fmt.Errorf("%w; rolling back failed as well, and is tried again in the next call that writes: %w", why, u.err)
	}
	return why
}

// rollBack restores the old state, whatever state each step is in, and removes the temporary files. It may be
// interrupted and repeated at any point.
func (a Applier) rollBack(j *journal) undoResult {
	var u undoResult
	var keep []int
	for i, s := range slices.Backward(j.Steps) {
		isForeign, err := a.rollBackStep(s, j.temporary(i))
		if err != nil {
			u.err = fault.IO(s.Path, err)
			return u
		}
		if isForeign {
			u.kept = append(u.kept, s.Path)
			keep = append(keep, i)
		}
	}
	u.err = a.unstage(j, switching, keep...).err
	slices.Sort(u.kept)
	return u
}

// rollBackStep restores the old content of a step's file. If the file has neither the old nor the new
// content, another program has changed it: it stays, and the old content stays under its temporary name.
func (a Applier) rollBackStep(s step, temporary temporaryNames) (isForeign bool, err error) {
	if err := a.checkStepDir(s); err != nil {
		return true, ignoreMoved(err)
	}
	now, err := a.sum(s.Path)
	if err != nil {
		return false, err
	}
	if now == s.Before {
		return false, nil
	}
	if now != s.After {
		return true, nil
	}
	if err := a.checkStepDir(s); err != nil {
		return true, ignoreMoved(err)
	}
	if s.Before == "" {
		return false, a.FS.Remove(s.Path)
	}
	err = a.FS.Rename(temporary.old, s.Path)
	return errors.Is(err, fs.ErrNotExist), ignoreMoved(err)
}

// ignoreMoved drops errors which mean that a directory or temporary file was moved by another program, so
// that nothing can be restored there.
func ignoreMoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// unstage removes the temporary files and created directories, then the journal. It keeps the old contents of
// the steps in keep.
func (a Applier) unstage(j *journal, state string, keep ...int) undoResult {
	if err := a.removeTemporary(j, keep...); err != nil {
		return undoResult{err: err}
	}
	for _, dir := range slices.Backward(j.Dirs) {
		if err := a.removeEmpty(dir); err != nil {
			return undoResult{err: err}
		}
	}
	return undoResult{err: a.remove(a.at(state))}
}

// removeTemporary removes the temporary files of all steps, except the old contents of the steps in keep.
func (a Applier) removeTemporary(j *journal, keep ...int) error {
	for i, s := range j.Steps {
		if err := a.checkStepDir(s); err != nil {
			if err := ignoreMoved(err); err != nil {
				return err
			}
			continue
		}
		temporary := j.temporary(i)
		if err := a.remove(temporary.new); err != nil {
			return err
		}
		if slices.Contains(keep, i) {
			continue
		}
		if err := a.remove(temporary.old); err != nil {
			return err
		}
	}
	return nil
}

// removeEmpty removes a directory that the transaction created, unless it is no longer empty or was replaced
// by a symbolic link.
func (a Applier) removeEmpty(dir string) error {
	info, err := a.FS.Lstat(dir)
	if err != nil || !info.IsDir() {
		return ignoreMoved(err)
	}
	entries, err := a.FS.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return err
	}
	return a.remove(dir)
}

// cleanUp removes the temporary files of a committed transaction, then the journal.
func (a Applier) cleanUp(j *journal) error {
	if err := a.removeTemporary(j); err != nil {
		return err
	}
	return a.remove(a.at(committed))
}
