package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
)

// Interrupted tells whether a claim is there, as far as that can be seen without taking one's turn.
func (r *Root) Interrupted() bool {
	_, err := r.files.Lstat(r.ClaimPath())
	return err == nil
}

// Recover ends what an earlier call of the same owner began and was stopped in: an archive whose change has
// moved is finished, any other is undone, and files that only a running call needs are removed. Nothing is
// done to the claim of another owner or program: a later Archive finds it.
//
// The caller must know that no other call of the owner runs that writes.
func (r *Root) Recover(owner string) error {
	if err := r.contained(); err != nil {
		return err
	}
	c, err := r.readClaim(owner)
	if err != nil && !errors.Is(err, ErrClaimed) {
		return err
	}
	if c != nil {
		if err := r.end(c); err != nil {
			return fmt.Errorf("an archive that was interrupted cannot be ended: %w", err)
		}
	}
	return r.sweep()
}

// end finishes or undoes what a claim tells of.
func (r *Root) end(c *claim) error {
	if c.Change == "" {
		return r.discard(r.ClaimPath())
	}
	_, active := r.files.Lstat(filepath.Join(r.ChangesDir(), c.Change))
	_, archived := r.files.Lstat(filepath.Join(r.ArchiveDir(), c.Archived))
	if archived == nil && errors.Is(active, fs.ErrNotExist) {
		return r.finish(c)
	}
	return r.undo(c)
}

// finish removes what an archive leaves behind, the claim last.
func (r *Root) finish(c *claim) error {
	for _, write := range c.Writes {
		path := r.SpecPath(write.ID)
		if err := errors.Join(r.discard(c.waiting(path, "old")), r.discard(c.waiting(path, "new"))); err != nil {
			return err
		}
		if write.After == "" {
			if err := r.prune(write.ID); err != nil {
				return err
			}
		}
	}
	return r.discard(r.ClaimPath())
}

// prune removes the folder of a deleted spec and those above it, as far as they are empty.
func (r *Root) prune(id string) error {
	for at := id; at != "."; at = path.Dir(at) {
		if err := r.removeEmpty(filepath.Join(r.SpecsDir(), filepath.FromSlash(at))); err != nil {
			return err
		}
	}
	return nil
}

// undo puts everything back, from the last write to the first, and releases the claim. It may be stopped
// and begun again at any point.
func (r *Root) undo(c *claim) error {
	for _, write := range slices.Backward(c.Writes) {
		if err := r.restore(c, write); err != nil {
			return err
		}
	}
	for _, folder := range slices.Backward(c.Folders) {
		if err := r.removeEmpty(filepath.Join(r.SpecsDir(), filepath.FromSlash(folder))); err != nil {
			return err
		}
	}
	if c.NewSpecs {
		if err := r.removeEmpty(r.SpecsDir()); err != nil {
			return err
		}
	}
	return r.release(c)
}

// release removes the claim, and the archive folder if it was made for it alone.
func (r *Root) release(c *claim) error {
	if err := r.discard(r.ClaimPath()); err != nil {
		return err
	}
	if c.NewDir {
		return r.removeEmpty(r.ArchiveDir())
	}
	return nil
}

// restore puts one spec back, as far as the archive came with it: its new text waits until it is put in
// place, and its old one from before that. What is neither was written by somebody else since, and stays.
func (r *Root) restore(c *claim, write claimSpec) error {
	path := r.SpecPath(write.ID)
	old, fresh := c.waiting(path, "old"), c.waiting(path, "new")
	now, err := r.digestOf(write.ID)
	switch {
	case err != nil:
		return err
	case !r.missing(fresh): // not in place yet
	case write.Before == "" && now == write.After:
		err = r.discard(path)
	case write.Before == "" || r.missing(old) || now == write.Before: // somebody else's, or not begun
	case now != write.After:
		return fmt.Errorf("%s was changed since; put it in order, then remove %s and %s", path, r.ClaimPath(), old)
	default:
		err = r.files.Rename(old, path)
	}
	return errors.Join(err, r.discard(fresh), r.discardOld(err, old))
}

// discardOld removes an old text, unless it could not be put back: it is then the only one.
func (r *Root) discardOld(failed error, old string) error {
	if failed != nil {
		return nil
	}
	return r.discard(old)
}

// digestOf returns the digest of a main spec; "" if there is none.
func (r *Root) digestOf(id string) (string, error) {
	content, found, err := r.ReadSpec(id)
	if err != nil || !found {
		return "", err
	}
	return digest(content), nil
}

// removeEmpty removes a folder if it is there and empty.
func (r *Root) removeEmpty(dir string) error {
	entries, err := r.files.ReadDir(dir)
	if err != nil || len(entries) > 0 {
		return ignoreMissing(err)
	}
	return r.discard(dir)
}

// sweep removes what a killed call may have left in the folders that calls write to.
func (r *Root) sweep() error {
	for _, dir := range []string{r.Folder, r.SpecsDir(), r.ChangesDir(), r.ArchiveDir()} {
		entries, err := r.readDir(dir)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if !isTemp(entry.Name()) {
				continue
			}
			if err := r.removeStaged(filepath.Join(dir, entry.Name()), entry.IsDir()); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeStaged removes a temporary file, or a folder with the files in it.
func (r *Root) removeStaged(path string, isDir bool) error {
	if !isDir {
		return r.discard(path)
	}
	entries, err := r.files.ReadDir(path)
	if err != nil {
		return ignoreMissing(err)
	}
	for _, entry := range entries {
		if err := r.discard(filepath.Join(path, entry.Name())); err != nil {
			return err
		}
	}
	return r.discard(path)
}
