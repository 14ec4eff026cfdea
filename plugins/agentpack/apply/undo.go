package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// undoing is how far the old state could be put back.
type undoResult struct {
	kept []string // files that stay as somebody else has left them
	err  error    // why it ended early; the next Recover goes on
}

// because returns why an apply ended, and what could not be undone of it.
func (u undoResult) wrap(why error) error {
	if len(u.kept) > 0 {
		why = fmt.Errorf("%w; not put back, because another program has changed them since: %s", why, strings.Join(u.kept, ", "))
	}
	if u.err != nil {
		why = fmt.Errorf("%w; undoing this failed as well, and is tried again in the next call that writes: %w", why, u.err)
	}
	return why
}

// undo puts the old state back, in whatever state each step is, and then tidies up. It may be stopped and
// repeated at any point.
func (a Applier) rollBack(j *journal) undoResult {
	var u undoResult
	var keep []int
	for i, s := range slices.Backward(j.Steps) {
		theirs, err := a.rollBackStep(s, j.temporary(i))
		if err != nil {
			u.err = fault.IO(s.Path, err)
			return u
		}
		if theirs {
			u.kept = append(u.kept, s.Path)
			keep = append(keep, i)
		}
	}
	u.err = a.unstage(j, switching, keep...).err
	slices.Sort(u.kept)
	return u
}

// undoStep puts back what was there before a step. Where neither that nor the step's own content is, the
// file is somebody else's by now: it stays, and so does the old content under its second name.
func (a Applier) rollBackStep(s step, temporary names) (theirs bool, err error) {
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

// ignoreMoved drops the errors which say that a folder or a second name is not where the apply had it:
// somebody has moved it, and nothing can be put back there.
func ignoreMoved(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrChanged) {
		return nil
	}
	return err
}

// unstage removes what staging has left, but the old contents of the steps in keep, and then the journal.
func (a Applier) unstage(j *journal, state string, keep ...int) undoResult {
	if err := a.removeTemporary(j, keep...); err != nil {
		return undoResult{err: err}
	}
	for _, folder := range slices.Backward(j.Folders) {
		if err := a.removeEmpty(folder); err != nil {
			return undoResult{err: err}
		}
	}
	return undoResult{err: a.remove(a.at(state))}
}

// clear removes what an apply has beside its files, but the old contents of the steps in keep.
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

// removeEmpty removes a folder that the apply has made. One in which there is something by now is somebody
// else's, too, and so is a link in its place.
func (a Applier) removeEmpty(folder string) error {
	info, err := a.FS.Lstat(folder)
	if err != nil || !info.IsDir() {
		return ignoreMoved(err)
	}
	entries, err := a.FS.ReadDir(folder)
	if err != nil || len(entries) > 0 {
		return err
	}
	return a.remove(folder)
}

// tidy removes what an apply that took place has beside its files, and then the journal.
func (a Applier) cleanUp(j *journal) error {
	if err := a.removeTemporary(j); err != nil {
		return err
	}
	return a.remove(a.at(committed))
}
