package transaction

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// The following methods change the file system. They record each directory in which an entry may have changed that is not yet durable.

func (t *run) mkdir(dir string) error {
	t.touch(dir)
	if err := t.fs.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return about(dir, err)
	}
	return nil
}

// rename records the new directory before the old one. If only the first of the two syncs takes place, the file has two names instead of
// none.
func (t *run) rename(from, to string) error {
	t.touch(to)
	t.touch(from)
	return t.fs.Rename(from, to)
}

func (t *run) link(from, to string) error {
	t.touch(to)
	return t.fs.Link(from, to)
}

func (t *run) symlink(target, path string) error {
	t.touch(path)
	return t.fs.Symlink(target, path)
}

func (t *run) remove(path string) error {
	t.touch(path)
	return about(path, filesystem.IgnoreAbsent(t.fs.Remove(path)))
}

func (t *run) touch(path string) {
	if dir := filepath.Dir(path); !t.touched[dir] {
		t.touched[dir] = true
		t.dirty = append(t.dirty, dir)
	}
}

// flush makes all changed entries durable. It skips directories that have been removed.
func (t *run) flush() error {
	for _, dir := range t.dirty {
		if err := t.fs.SyncDir(dir); filesystem.IgnoreAbsent(err) != nil {
			return about(dir, err)
		}
	}
	t.dirty = t.dirty[:0]
	clear(t.touched)
	return nil
}

// stage creates the missing directories. It puts new contents and second names beside the destinations.
func (t *run) stage() error {
	roots := t.roots()
	for _, dir := range t.journal.Folders {
		if err := t.prove(roots[dir], filepath.Dir(dir)); err != nil {
			return err
		}
		if err := t.mkdir(dir); err != nil {
			return err
		}
	}
	for i, s := range t.journal.Steps {
		if s.After == "" {
			continue // a file that is moved or removed has nothing to stage
		}
		if err := t.stageStep(i, s); err != nil {
			return about(s.Path, err)
		}
	}
	return nil
}

// roots maps each directory above a file of the transaction to the root of a step: the first step that has a file below that directory.
func (t *run) roots() map[string]string {
	roots := map[string]string{}
	for _, s := range t.journal.Steps {
		for dir := filepath.Dir(s.Path); roots[dir] == ""; dir = filepath.Dir(dir) {
			roots[dir] = s.Root
		}
	}
	return roots
}

func (t *run) stageStep(i int, s Step) error {
	old, fresh := t.format.Names(t.journal, i)
	like := t.changes[i].Like
	if s.Before != "" {
		like = s.Path
		if err := changedIfAbsent(s.Path, t.secondName(s, old)); err != nil {
			return err
		}
	}
	if err := t.proveStep(s); err != nil {
		return err
	}
	if target := t.changes[i].Link; target != "" {
		return t.symlink(target, fresh)
	}
	return t.write(fresh, t.changes[i].After, like)
}

// secondName gives the file of a step a second name: a hard link, or a copy if the file system has no hard links. Not every system has hard
// links of symbolic links, so a symbolic link that the step replaces is copied.
func (t *run) secondName(s Step, name string) error {
	var target string
	var isLink bool
	if s.NoFollow {
		var err error
		if target, isLink, err = t.readLink(s.Path); err != nil {
			return err
		}
	}
	if err := t.proveStep(s); err != nil {
		return err
	}
	if isLink {
		return t.symlink(target, name)
	}
	if t.link(s.Path, name) == nil {
		return nil
	}
	content, err := filesystem.ReadFile(t.fs, s.Path, maxJournal)
	if err != nil {
		return err
	}
	if err := t.proveStep(s); err != nil {
		return err
	}
	return t.write(name, content, s.Path)
}

// write durably creates a file. Before the file gets any content, it gets the permission bits of the file at the path like.
func (t *run) write(path string, content []byte, like string) error {
	t.touch(path)
	file, err := t.fs.Create(path, 0o644)
	if err != nil {
		return err
	}
	if like != "" {
		err = t.fs.CopyMode(like, path)
	}
	if err == nil {
		_, err = file.Write(content)
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// switchAll replaces the old state of each step with the new state. It stops at the first step that fails.
func (t *run) switchAll() error {
	t.reached = 0
	for i, s := range t.journal.Steps {
		if err := t.expect(s); err != nil {
			return err
		}
		if err := t.proveStep(s); err != nil {
			return err
		}
		t.reached++
		if err := changedIfAbsent(s.Path, t.switchStep(i, s)); err != nil {
			return about(s.Path, err)
		}
	}
	return nil
}

func (t *run) switchStep(i int, s Step) error {
	old, fresh := t.format.Names(t.journal, i)
	switch {
	case s.From != "":
		return t.relocate(i, s)
	case s.After == "":
		return t.take(s, old)
	case s.Before == "":
		return t.place(fresh, s.Path)
	}
	return t.rename(fresh, s.Path)
}

// relocate switches a step that moves a file or directory. The last move may be what commits the transaction, so everything before that move
// is made durable first.
func (t *run) relocate(i int, s Step) error {
	if i == len(t.journal.Steps)-1 {
		if err := t.flush(); err != nil {
			return err
		}
	}
	if err := t.proveMove(s); err != nil {
		return err
	}
	if err := t.rename(s.From, s.Path); err != nil {
		return err
	}
	return t.revert(t.proveMove(s), s.Path, s.From)
}

// revert renames a file back if err says that a directory of its path was replaced since the check before the rename, which then took effect
// elsewhere. If there is a file at the path to, the directory was replaced after the rename: that file is of another program.
func (t *run) revert(err error, from, to string) error {
	if !errors.Is(err, ErrChanged) {
		return err
	}
	occupied, lookErr := filesystem.Exists(t.fs, to)
	if !occupied && lookErr == nil {
		lookErr = t.rename(from, to)
	}
	return errors.Join(err, lookErr)
}

// place gives a new file its name with a link. A link, unlike a rename, never replaces a file that another program has created since the
// check. place then removes the temporary name at once, because a step counts as switched only when its temporary name is gone.
func (t *run) place(fresh, path string) error {
	err := t.link(fresh, path)
	if errors.Is(err, fs.ErrExist) {
		return changed(path)
	}
	if err != nil {
		return t.rename(fresh, path) // the file system has no hard links, or none of symbolic links
	}
	return t.remove(fresh)
}

// take removes a file by renaming it to old, a name under which no other program changes it. If that file is not the expected one, rolling
// back returns it to its place. If a directory of the path was replaced with a symbolic link since the last check, the rename would still
// succeed. take and relocate therefore repeat the check after the rename, and rename the file back if the check fails. Other changes need no
// second check: they fail in this case, because they move a file that was staged beside the destination.
func (t *run) take(s Step, old string) error {
	if err := t.rename(s.Path, old); err != nil {
		return err
	}
	if err := t.revert(t.proveStep(s), old, s.Path); err != nil {
		return err
	}
	now, err := t.digest(old, s.NoFollow)
	if err == nil && now != s.Before {
		err = changed(s.Path)
	}
	return err
}

// sameFile reports whether one and two are hard links to the same file.
func (t *run) sameFile(one, two string) bool {
	a, errA := t.fs.Lstat(one)
	b, errB := t.fs.Lstat(two)
	return errA == nil && errB == nil && (os.SameFile(a, b) || a.Sys() != nil && a.Sys() == b.Sys())
}
