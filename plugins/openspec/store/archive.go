package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Plan describes an archive, which changes main specs and then moves the directory of a change.
type Plan struct {
	Owner    string // the owner of the claim: see Root.Recover
	Change   string
	Archived string // the new name of the directory
	Specs    []SpecWrite
	Seen     []Seen // delta files that must still have the content that was read
}

// SpecWrite is the planned write of one main spec.
type SpecWrite struct {
	ID     string
	Before *string // the content that was read; nil if the spec does not exist
	After  *string // the new content; nil if the spec is to be deleted, together with its directories that are then empty
}

// Seen is a delta file together with the content that was read.
type Seen struct {
	ID      string // the id of the capability
	Content string
}

// The errors of Archive. After each of these errors, no file has changed.
var (
	// ErrTargetExists means that the path to which the directory of the change would be moved already exists.
	ErrTargetExists = errors.New("is already in the archive")
	// ErrChanged means that another program has changed a file since this call read the file.
	ErrChanged = errors.New("was changed by another program during this call; nothing was written, try again")
)

// Archive carries out a plan atomically. It holds the claim until it ends. The error is ErrClaimed if another archive
// holds the claim. If Archive is interrupted, Recover completes the archive or rolls it back.
//
// The move of the change's directory commits the archive. If an error occurs after the move, Archive does not undo the
// archive: the claim stays, and Archive returns the error as the result leftover.
func (r *Root) Archive(plan Plan) (leftover, err error) {
	if err := r.contained(); err != nil {
		return nil, err
	}
	if !r.missing(r.ClaimPath()) {
		return nil, ErrClaimed
	}
	if err := r.Unchanged(plan); err != nil {
		return nil, err
	}
	c := &claim{Format: claimFormat, Owner: plan.Owner, Change: plan.Change, Archived: plan.Archived}
	move, err := r.move(c)
	if err != nil {
		return nil, err
	}
	if r.missing(r.ArchiveDir()) {
		err := r.files.Mkdir(r.ArchiveDir(), 0o755)
		if err != nil && !errors.Is(err, fs.ErrExist) { // a concurrent archive may have created the directory
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

// dropArchiveDir removes the archive directory if an archive that failed or was rolled back has created that directory.
func (r *Root) dropArchiveDir(c *claim) error {
	if !c.NewDir {
		return nil
	}
	return filesystem.RemoveEmpty(r.files, r.ArchiveDir())
}

// changes converts the writes of main specs to changes for package transaction.
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

// move returns the step of the transaction that moves the directory of a claim's change. If one of the parent
// directories is a symbolic link within the project, the step contains the resolved paths.
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

// missing reports whether a path does not exist.
func (r *Root) missing(path string) bool {
	_, err := r.files.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// Unchanged returns an error if the change, one of its deltas or a main spec has changed since the plan was made.
func (r *Root) Unchanged(plan Plan) error {
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

// Interrupted reports whether a claim, or a temporary file for a claim, exists. If the caller does not hold the
// project's lock, the result may be outdated.
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

// Recover recovers from an interrupted call of the same owner. If the directory of the change has moved, Recover
// completes the archive; otherwise it rolls the archive back. It also removes temporary files. It does not touch the
// claim of another owner or program; Archive then returns ErrClaimed.
//
// The caller must know that no other call of the owner is writing.
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
		return fmt.Errorf("cannot recover the interrupted archive of claim %s: %w", r.ClaimPath(), err)
	}
	return r.sweep()
}
