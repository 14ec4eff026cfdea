package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Plan is an archive: main specs change, and then the directory of a change moves.
type Plan struct {
	Owner    string // of the claim: see Root.Recover
	Change   string
	Archived string // the new name of the directory
	Specs    []SpecWrite
	Seen     []Seen // what must not have changed since it was read
}

// SpecWrite is a main spec that changes.
type SpecWrite struct {
	ID     string
	Before *string // its content as it was read; nil: it does not exist
	After  *string // nil: it is deleted, and so are the directories above it that are then empty
}

// Seen is a delta file as it was read.
type Seen struct {
	ID      string // of the capability
	Content string
}

// Reasons why an archive does not happen.
var (
	// ErrTargetExists says that something is where the change is to go.
	ErrTargetExists = errors.New("is already in the archive")
	// ErrChanged says that another program changed a file between its reading and its writing.
	ErrChanged = errors.New("was changed by another program meanwhile; nothing was written, try again")
)

// Archive carries out a plan atomically. In its course it holds the claim: ErrClaimed says that another archive has it.
// Whenever it is interrupted, Recover rolls it forward or back.
//
// The move of the change commits the archive. An error after that does not undo it: the claim stays, and leftover has
// the error.
func (r *Root) Archive(plan Plan) (leftover, err error) {
	if err := r.contained(); err != nil {
		return nil, err
	}
	if !r.missing(r.ClaimPath()) {
		return nil, ErrClaimed
	}
	if err := r.unchanged(plan); err != nil {
		return nil, err
	}
	c := &claim{Format: claimFormat, Owner: plan.Owner, Change: plan.Change, Archived: plan.Archived}
	move, err := r.move(c)
	if err != nil {
		return nil, err
	}
	if r.missing(r.ArchiveDir()) {
		err := r.files.Mkdir(r.ArchiveDir(), 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) { // another archive was quicker to make it
			return nil, err
		}
		c.NewDir = err == nil
	}
	log := r.log(c)
	log.OnLeftover = func(err error) { leftover = err }
	err = log.Apply(append(r.changes(plan.Specs), move))
	if errors.Is(err, transaction.ErrPending) {
		return nil, ErrClaimed
	}
	if err != nil {
		return nil, errors.Join(err, r.dropArchiveDir(c))
	}
	return leftover, nil
}

// dropArchiveDir removes an archive directory that was made for an archive that did not happen.
func (r *Root) dropArchiveDir(c *claim) error {
	if !c.NewDir {
		return nil
	}
	return filesystem.RemoveEmpty(r.files, r.ArchiveDir())
}

// changes returns the changes of the main specs.
func (r *Root) changes(specs []SpecWrite) []transaction.Change {
	var changes []transaction.Change
	for _, write := range specs {
		change := transaction.Change{Root: r.SpecsDir(), Path: r.SpecPath(write.ID), Delete: write.After == nil, Prune: write.After == nil}
		if write.Before != nil {
			change.Before = transaction.Digest([]byte(*write.Before))
		}
		if write.After != nil {
			change.After = []byte(*write.After)
		}
		changes = append(changes, change)
	}
	return changes
}

// move returns the change that moves the directory of a claim's change. Directories on the way may be links within the
// project: then the paths are resolved ones.
func (r *Root) move(c *claim) (transaction.Change, error) {
	root, from, to := r.Path, r.ChangesDir(), r.ArchiveDir()
	for _, dir := range []string{r.Dir, from, to} {
		info, err := r.files.Lstat(dir)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		for _, path := range []*string{&root, &from, &to} {
			target, err := r.resolver().Resolve(*path)
			if err != nil {
				return transaction.Change{}, err
			}
			*path = target.Path
		}
		break
	}
	return transaction.Change{Root: root, From: filepath.Join(from, c.Change), Path: filepath.Join(to, c.Archived)}, nil
}

// missing reports whether nothing is at a path.
func (r *Root) missing(path string) bool {
	_, err := r.files.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// unchanged returns an error unless everything still is as it was when the plan was made.
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

// Interrupted reports whether a claim exists, or one that was about to be made, as far as that can be seen without the
// lock.
func (r *Root) Interrupted() bool {
	if !r.missing(r.ClaimPath()) {
		return true
	}
	entries, err := r.files.ReadDir(r.ArchiveDir())
	for _, entry := range entries {
		if err == nil && isTemporary(entry.Name()) {
			return true
		}
	}
	return false
}

// Recover ends what an interrupted call of the same owner began: an archive whose change has moved is rolled forward,
// any other is rolled back, and temporary files are removed. The claim of another owner or program stays: a later
// Archive finds it.
//
// The caller must know that no other call of the owner writes.
func (r *Root) Recover(owner string) error {
	if err := r.contained(); err != nil {
		return err
	}
	c := &claim{Owner: owner}
	report, err := r.log(c).Recover()
	if err == nil && report.Outcome == transaction.Undone {
		err = r.dropArchiveDir(c)
	}
	if err != nil && !errors.Is(err, ErrClaimed) {
		return fmt.Errorf("an archive that was interrupted cannot be ended: %w", err)
	}
	return r.sweep()
}
