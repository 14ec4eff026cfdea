package apply

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// switchAll replaces each file by its new state, until the first error.
func (a Applier) switchAll(j *journal) error {
	for i, s := range j.Steps {
		if err := a.checkStepDir(s); err != nil {
			return err
		}
		if err := a.requireSum(s.Path, s.Before); err != nil {
			return err
		}
		if err := a.switchStep(s, j.temporary(i)); err != nil {
			return fault.IO(s.Path, err)
		}
	}
	return nil
}

func (a Applier) switchStep(s step, temporary temporaryNames) error {
	switch {
	case s.After == "":
		return a.moveAway(s, temporary.old)
	case s.Before == "":
		return a.linkNew(temporary.new, s.Path)
	}
	return a.FS.Rename(temporary.new, s.Path)
}

// linkNew gives a new file its name. Unlike a rename, a hard link never replaces a file that another program
// has created in the meantime.
func (a Applier) linkNew(from, to string) error {
	err := a.FS.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s %w", to, ErrChanged)
	}
	if err != nil {
		return a.FS.Rename(from, to) // the file system has no hard links
	}
	return nil
}

// moveAway removes a file by moving it to a temporary name, where no other program changes it. If its content
// then differs from the expected one, rolling back restores it. A switch of another kind needs a temporary
// file in the destination's directory and so fails if a symbolic link has replaced that directory; this one
// would succeed, so the directory is checked once more after the rename, and the file moved back.
func (a Applier) moveAway(s step, to string) error {
	if err := a.FS.Rename(s.Path, to); err != nil {
		return err
	}
	if err := a.checkStepDir(s); errors.Is(err, ErrChanged) {
		return errors.Join(err, a.FS.Rename(to, s.Path))
	} else if err != nil {
		return err
	}
	now, err := a.sum(to)
	if err == nil && now != s.Before {
		err = fmt.Errorf("%s %w", s.Path, ErrChanged)
	}
	return err
}
