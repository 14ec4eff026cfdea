package apply

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// switchAll puts each step's new state in the place of the old one, until one fails.
func (a Applier) switchAll(j *journal) error {
	for i, s := range j.Steps {
		if err := a.checkStepDir(s); err != nil {
			return err
		}
		if err := a.expect(s.Path, s.Before); err != nil {
			return err
		}
		if err := a.switchStep(s, j.temporary(i)); err != nil {
			return fault.IO(s.Path, err)
		}
	}
	return nil
}

func (a Applier) switchStep(s step, temporary names) error {
	switch {
	case s.After == "":
		return a.moveAway(s, temporary.old)
	case s.Before == "":
		return a.linkNew(temporary.new, s.Path)
	}
	return a.FS.Rename(temporary.new, s.Path)
}

// place gives a new file its name. A link, unlike a rename, never takes the place of a file that somebody
// made in the meantime.
func (a Applier) linkNew(from, to string) error {
	err := a.FS.Link(from, to)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s %w", to, ErrChanged)
	}
	if err != nil {
		return a.FS.Rename(from, to) // a file system in which a file has one name only
	}
	return nil
}

// take removes a file by giving it another name, under which nobody changes it any more. If it turns out
// to be another one than expected, undoing puts it back. Unlike the other switches, which need a file that
// was laid beside the destination, this one would also work in a folder that a link has led to since the
// proof: so the proof is made once more, and there the file gets its name back at once.
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
