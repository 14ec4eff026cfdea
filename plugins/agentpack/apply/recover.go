package apply

import (
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// Outcome is what Recover did.
type Outcome string

// Outcomes of Recover. The texts are shown to users.
const (
	None       Outcome = ""            // there was nothing to recover
	Finished   Outcome = "finished"    // committed: all files have their new content
	RolledBack Outcome = "rolled back" // rolled back: all files have their old content
)

// Report is the result of Recover. Kept lists files that were not restored because another program has
// changed them; their old content is beside them, in files for which IsTemporary is true.
type Report struct {
	Outcome Outcome
	Kept    []string
}

// Recover finishes a transaction that was interrupted after its last switch, and rolls back one that was
// interrupted earlier. It may be interrupted itself, and repeated. A journal that cannot be read, or that
// names directories which this process may not change, is left in place, with an error.
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
		return Report{}, fmt.Errorf("%w; call again where that directory is granted, such as in the project that it belongs to; or, if the directory was removed for good, remove %s", err, a.at(state))
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
		result := a.rollBack(j)
		return Report{Outcome: RolledBack, Kept: result.kept}, result.err
	}
	if err := a.setState(switching, committed); err != nil {
		return Report{}, err
	}
	return Report{Outcome: Finished}, a.cleanUp(j)
}

// removeUnwritten removes a journal that was only partly written. It calls Lstat first, because a sandbox
// that grants no writing refuses even a removal of a file that does not exist.
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
		return nil, fmt.Errorf("the journal %s of an interrupted apply cannot be used: %w; look at the files whose names begin with %s, then remove it", file, err, temporaryPrefix)
	}
	return j, nil
}

// checkWritable returns an error unless this process may change all directories of a journal. Otherwise files
// in a directory that the sandbox hides would be skipped and the others rolled back.
func (a Applier) checkWritable(j *journal) error {
	reached := map[string]bool{}
	for _, s := range j.Steps {
		dir := filepath.Dir(s.Path)
		if reached[dir] {
			continue
		}
		reached[dir] = true
		if err := a.CheckWritable(dir); err != nil {
			return fault.IO(s.Path, fmt.Errorf("it wrote into %s, which cannot be reached: %w", dir, err))
		}
	}
	return nil
}

// CheckWritable returns an error unless this process may change a directory or, if that does not exist, its
// nearest existing ancestor. A sandbox shows a directory that is not granted as absent; that must not be
// taken for a directory that was removed.
func (a Applier) CheckWritable(dir string) error {
	for ; ; dir = filepath.Dir(dir) {
		_, err := a.FS.Lstat(dir)
		if err == nil {
			return a.FS.CheckWritable(dir)
		}
		if ignoreMoved(err) != nil || dir == filepath.Dir(dir) {
			return err
		}
	}
}

// allSwitched reports whether all steps were switched, so that only the commit is missing. The content of a
// removed file must be the one that the step expected.
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
