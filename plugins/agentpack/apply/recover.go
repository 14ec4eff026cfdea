package apply

import (
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Outcome is what became of an apply that was stopped.
type Outcome string

// What Recover can do.
const (
	None       Outcome = ""         // no apply was stopped
	Finished   Outcome = "finished" // all files are as the apply wanted them
	RolledBack Outcome = "undone"   // all files are as they were before
)

// Report says what Recover did. Kept are files that were not put back, since somebody else has changed them;
// their old content lies beside them, in files that IsTemporary.
type Report struct {
	Outcome Outcome
	Kept    []string
}

// Recover finishes an apply that was stopped after its last file was switched, and undoes one that was
// stopped earlier. It may be stopped, too, and repeated. A journal that it cannot read, or that is about folders
// which are not this process's to change, it leaves where it is, with an error.
func (a Applier) Recover() (Report, error) {
	state, err := a.state()
	if err != nil {
		return Report{}, err
	}
	if state == "" {
		return Report{}, a.removeUnwritten()
	}
	j, err := a.readJournal(a.at(state))
	if err != nil {
		return Report{}, err
	}
	if err := a.checkWritable(j); err != nil {
		return Report{}, fmt.Errorf("%w; call again where that is granted, such as in the project that it belongs to, or, if it is gone for good, remove %s", err, a.at(state))
	}
	switch state {
	case committed:
		return Report{Outcome: Finished}, a.cleanUp(j)
	case staging:
		return Report{Outcome: RolledBack}, a.unstage(j, staging).err
	}
	all, err := a.allSwitched(j)
	if err != nil {
		return Report{}, err
	}
	if !all {
		undone := a.rollBack(j)
		return Report{Outcome: RolledBack, Kept: undone.kept}, undone.err
	}
	if err := a.setState(switching, committed); err != nil {
		return Report{}, err
	}
	return Report{Outcome: Finished}, a.cleanUp(j)
}

// removeUnwritten removes a journal that was never whole. It asks first: where nothing may be written there is
// nothing to remove, and to try would be refused.
func (a Applier) removeUnwritten() error {
	file := a.at(unwritten)
	if _, err := a.FS.Lstat(file); err != nil {
		return fault.IO(file, ignoreMoved(err))
	}
	return a.remove(file)
}

func (a Applier) readJournal(file string) (*journal, error) {
	raw, err := a.FS.ReadFile(file)
	if err != nil {
		return nil, fault.IO(file, err)
	}
	j, err := parse(raw)
	if err != nil {
		return nil, fmt.Errorf("%s, the journal of an apply that was stopped, cannot be used: %w; look at the files whose names begin with %s, then remove it", file, err, temporaryPrefix)
	}
	return j, nil
}

// reach returns an error unless all folders of a journal can be changed by this process: what was begun in one that
// is only not shown would stay as it is, and the rest be undone.
func (a Applier) checkWritable(j *journal) error {
	reached := map[string]bool{}
	for _, s := range j.Steps {
		folder := filepath.Dir(s.Path)
		if reached[folder] {
			continue
		}
		reached[folder] = true
		if err := a.CheckWritable(folder); err != nil {
			return fault.IO(s.Path, fmt.Errorf("it wrote into %s, which cannot be reached: %w", folder, err))
		}
	}
	return nil
}

// Reach returns an error unless a folder is this process's to change; of one that is not there the nearest one above
// it that is there tells. A sandbox shows a folder that it has not granted as one that is not there, which must not be
// taken for one that somebody has removed.
func (a Applier) CheckWritable(folder string) error {
	for ; ; folder = filepath.Dir(folder) {
		_, err := a.FS.Lstat(folder)
		if err == nil {
			return a.FS.CheckWritable(folder)
		}
		if ignoreMoved(err) != nil || folder == filepath.Dir(folder) {
			return err
		}
	}
}

// allSwitched tells whether nothing was left to do but to say so. A file that was removed must be known to
// be the one that was to be removed.
func (a Applier) allSwitched(j *journal) (bool, error) {
	for i, s := range j.Steps {
		now, err := a.sum(s.Path)
		if err == nil && now == s.After && s.After == "" {
			var removed string
			removed, err = a.sum(j.temporary(i).old)
			if err == nil && removed != s.Before {
				return false, nil
			}
		}
		if err != nil {
			return false, fault.IO(s.Path, err)
		}
		if now != s.After {
			return false, nil
		}
	}
	return true, nil
}
