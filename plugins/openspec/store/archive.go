package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// Plan is an archive: main specs change, and then a change's folder moves.
type Plan struct {
	Owner    string // whose claim it is: see Root.Recover
	Change   string
	Archived string // the folder's new name
	Specs    []SpecWrite
	Seen     []Seen // what must still be as it was read
}

// SpecWrite is a main spec that changes.
type SpecWrite struct {
	ID     string
	Before *string // its content as it was read; nil: there is none
	After  *string // nil: it is deleted, and the folders above it that are then empty
}

// Seen is a delta file as it was read.
type Seen struct {
	ID      string // of the capability
	Content string
}

// Why an archive does not happen.
var (
	// ErrTargetExists says that something is where the change is to go.
	ErrTargetExists = errors.New("is in the archive already")
	// ErrChanged says that somebody else changed a file between its reading and its writing.
	ErrChanged = errors.New("was changed by another program meanwhile; nothing was written, try again")
)

// Archive does what a plan says, whole or not at all. In its course it takes the claim: ErrClaimed says that
// another archive has it. Whenever it is stopped, Recover finishes it or undoes it.
//
// The texts are all on the disk, under other names, before the first spec is replaced, and the old ones
// stay until the change has moved: going back needs no room on the disk. An error behind the move is none
// of the archive's: the claim stays, and leftover tells of it.
func (r *Root) Archive(plan Plan) (leftover, err error) {
	if err := r.contained(); err != nil {
		return nil, err
	}
	c, err := r.takeClaim(plan)
	if err != nil {
		return nil, err
	}
	if err := r.unchanged(plan); err != nil {
		return nil, errors.Join(err, r.release(c)) // there is nothing to undo, and what is there is somebody else's
	}
	err = r.prepare(c, plan)
	if err == nil {
		err = r.replace(c)
	}
	if err == nil {
		err = r.files.Rename(filepath.Join(r.ChangesDir(), c.Change), filepath.Join(r.ArchiveDir(), c.Archived))
	}
	if err != nil {
		return nil, errors.Join(err, r.undo(c))
	}
	return r.finish(c), nil
}

// takeClaim makes the claim file, and the archive folder if there is none.
func (r *Root) takeClaim(plan Plan) (*claim, error) {
	token, err := newToken()
	if err != nil {
		return nil, err
	}
	c := &claim{Format: 1, Owner: plan.Owner, Token: token, Change: plan.Change, Archived: plan.Archived}
	for _, write := range plan.Specs {
		one := claimSpec{ID: write.ID}
		if write.Before != nil {
			one.Before = digest(*write.Before)
		}
		if write.After != nil {
			one.After = digest(*write.After)
		}
		c.Writes = append(c.Writes, one)
	}
	c.Folders = r.missingFolders(plan.Specs)
	c.NewSpecs = len(plan.Specs) > 0 && r.missing(r.SpecsDir())
	if r.missing(r.ArchiveDir()) {
		err := r.files.Mkdir(r.ArchiveDir())
		if err != nil && !errors.Is(err, fs.ErrExist) { // another archive was quicker: it is not this one's
			return nil, err
		}
		c.NewDir = err == nil
	}
	content, err := json.Marshal(c)
	if err == nil {
		err = r.place(r.ClaimPath(), string(content)+"\n")
	}
	if errors.Is(err, fs.ErrExist) {
		return nil, ErrClaimed
	}
	if err != nil && c.NewDir {
		err = errors.Join(err, r.removeEmpty(r.ArchiveDir()))
	}
	return c, err
}

// missingFolders returns the folders that new specs need, the outer ones first, as paths below specs.
func (r *Root) missingFolders(writes []SpecWrite) []string {
	var missing []string
	known := map[string]bool{}
	for _, write := range writes {
		at := ""
		for segment := range strings.SplitSeq(write.ID, "/") {
			at = path.Join(at, segment)
			if known[at] || write.Before != nil {
				continue
			}
			known[at] = true
			if r.missing(filepath.Join(r.SpecsDir(), filepath.FromSlash(at))) {
				missing = append(missing, at)
			}
		}
	}
	return missing
}

// missing tells whether there is nothing at a path.
func (r *Root) missing(path string) bool {
	_, err := r.files.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// unchanged looks, under the claim, whether everything still is as it was when the plan was made.
func (r *Root) unchanged(plan Plan) error {
	if _, err := r.files.Lstat(filepath.Join(r.ArchiveDir(), plan.Archived)); err == nil {
		return ErrTargetExists
	}
	change, exists, _ := r.Change(plan.Change)
	if !exists {
		return fmt.Errorf("change %s %w", plan.Change, ErrChanged)
	}
	for _, seen := range plan.Seen {
		content, found, err := change.ReadDelta(seen.ID)
		if err != nil {
			return err
		}
		if !found || content != seen.Content {
			return fmt.Errorf("the delta of %s %w", seen.ID, ErrChanged)
		}
	}
	for _, write := range plan.Specs {
		if err := r.plain(write.ID); err != nil {
			return err
		}
		content, found, err := r.ReadSpec(write.ID)
		if err != nil {
			return err
		}
		if found != (write.Before != nil) || found && content != *write.Before {
			return fmt.Errorf("the spec of %s %w", write.ID, ErrChanged)
		}
	}
	return nil
}

// prepare puts all texts on the disk, new and old, beside the specs that they are for.
func (r *Root) prepare(c *claim, plan Plan) error {
	if c.NewSpecs {
		if err := r.files.Mkdir(r.SpecsDir()); err != nil {
			return err
		}
	}
	for _, folder := range c.Folders {
		if err := r.files.Mkdir(filepath.Join(r.SpecsDir(), filepath.FromSlash(folder))); err != nil {
			return err
		}
	}
	for _, write := range plan.Specs {
		if err := r.prepareSpec(c, write); err != nil {
			return err
		}
	}
	return nil
}

func (r *Root) prepareSpec(c *claim, write SpecWrite) error {
	path := r.SpecPath(write.ID)
	mode := fs.FileMode(0o644)
	if write.Before != nil {
		info, err := r.files.Lstat(path)
		if err != nil {
			return err
		}
		mode = info.Mode().Perm()
		old := c.waiting(path, "old")
		if err := r.files.Link(path, old); err != nil {
			if err := r.files.Create(old, []byte(*write.Before), mode); err != nil {
				return err
			}
		}
	}
	if write.After == nil {
		return nil
	}
	return r.files.Create(c.waiting(path, "new"), []byte(*write.After), mode)
}

// replace puts the prepared texts in the places of the specs.
func (r *Root) replace(c *claim) error {
	for _, write := range c.Writes {
		path := r.SpecPath(write.ID)
		var err error
		if write.After == "" {
			err = r.files.Remove(path)
		} else {
			err = r.files.Rename(c.waiting(path, "new"), path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
