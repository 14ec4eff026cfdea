package worktree

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// Staging is the index of a repository under git's lock. Changes take effect with Write. The caller must release it.
type Staging struct {
	walk *walk
	lock *repo.Lock
	// changes are the new entries by path; an entry is nil if the path is to be removed.
	changes map[string]*indexEntry
}

// LockIndex acquires the lock of the index and reads the index. userPatterns is the content of the user's own ignore file.
func LockIndex(ctx context.Context, r *repo.Repository, userPatterns []byte) (*Staging, error) {
	lock, err := r.Lock(r.GitDir, "index")
	if err != nil {
		return nil, err
	}
	w, err := newWalk(ctx, r, userPatterns)
	if err != nil {
		lock.Release()
		return nil, err
	}
	return &Staging{walk: w, lock: lock, changes: map[string]*indexEntry{}}, nil
}

// Release releases the lock. Changes that Write has not written are lost.
func (s *Staging) Release() { s.lock.Release() }

// Write replaces the index atomically and durably, and releases the lock.
func (s *Staging) Write() error {
	if err := s.apply(); err != nil {
		return err
	}
	for i := range s.walk.index.entries {
		if err := s.walk.smudge(&s.walk.index.entries[i]); err != nil {
			return err
		}
	}
	return s.lock.Replace(s.walk.index.encode())
}

// apply applies the changes to the index in memory.
func (s *Staging) apply() error {
	if len(s.changes) == 0 {
		return nil
	}
	added := make([]string, 0, len(s.changes))
	replaced := map[string]bool{} // directories of new files, which replace files of the same path
	for name, e := range s.changes {
		if e == nil {
			continue
		}
		added = append(added, name)
		for dir := path.Dir(name); dir != "." && !replaced[dir]; dir = path.Dir(dir) {
			replaced[dir] = true
		}
	}
	slices.Sort(added)
	for _, name := range added {
		if replaced[name] {
			return fmt.Errorf("%s: was a file and then a directory: try again", hosterror.Truncate(name))
		}
	}
	x := s.walk.index
	all := make([]indexEntry, 0, len(x.entries)+len(added))
	var resolved []indexEntry
	for _, e := range x.entries {
		_, changed := s.changes[e.name]
		switch {
		case !changed && !replaced[e.name] && !s.isBelowAdded(e.name):
			all = append(all, e)
		case e.stage != 0:
			resolved = append(resolved, e)
		}
	}
	x.recordResolved(resolved)
	for _, name := range added {
		all = append(all, *s.changes[name])
	}
	if len(all) > objects.MaxFiles {
		return fmt.Errorf("the index would have more than %d files", objects.MaxFiles)
	}
	slices.SortFunc(all, func(a, b indexEntry) int {
		if a.name != b.name {
			return strings.Compare(a.name, b.name)
		}
		return a.stage - b.stage
	})
	x.entries = all
	clear(s.changes)
	return nil
}

// isBelowAdded reports whether a file has replaced one of the directories of a path.
func (s *Staging) isBelowAdded(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if s.changes[dir] != nil {
			return true
		}
	}
	return false
}

// smudge marks an entry that is racily clean and whose file has other content, as git does: the new index will be younger than the file, so
// that equal stat data would count as proof. A size of 0 makes git compare the content.
func (w *walk) smudge(e *indexEntry) error {
	if e.stage != 0 || e.mode == objects.ModeSubmodule || !w.index.isRacy(e.stat) {
		return nil
	}
	info, err := w.repo.Work.Handle.Lstat(path.Join(w.repo.Top, e.name))
	if err != nil || w.modeOf(e, info) != e.mode || !e.stat.same(statOf(info)) {
		return w.ctx.Err() // git will notice the difference
	}
	same, err := w.sameContent(e, info)
	if err == nil && !same {
		e.stat.size = 0
	}
	return err
}

// Reset makes the index that of a tree; a zero hash is the empty tree. Entries that do not differ keep their stat data and flags.
func (s *Staging) Reset(store *objects.Store, tree plumbing.Hash) error {
	x := s.walk.index
	var all []indexEntry
	err := compareIndex(store, tree, x, func(name string, e *objects.TreeEntry, first, last int) error {
		switch {
		case e == nil:
		case first < last && x.entries[first].stage == 0 && !x.entries[first].intent &&
			x.entries[first].mode == e.Mode && x.entries[first].hash == e.Hash:
			all = append(all, x.entries[first])
		default:
			if err := checkEntry(name, e.Mode); err != nil {
				return err
			}
			all = append(all, indexEntry{name: name, mode: e.Mode, hash: e.Hash})
		}
		return nil
	})
	if err == nil {
		clear(s.changes)
		x.entries, x.undo = all, nil
	}
	return err
}

// Tree adds the trees of the index to a batch, and returns the one of the top level. Files that are only intended to be added are left out, as
// in git. An unmerged path or an absent object is an error.
func (s *Staging) Tree(store *objects.Store, b *objects.Batch) (plumbing.Hash, error) {
	if err := s.apply(); err != nil {
		return plumbing.ZeroHash, err
	}
	var unmerged []string
	for _, e := range s.walk.index.entries {
		if e.stage != 0 && !slices.Contains(unmerged, e.name) && len(unmerged) < maxNamed {
			unmerged = append(unmerged, e.name)
		}
	}
	if len(unmerged) > 0 {
		return plumbing.ZeroHash, fmt.Errorf("there are unmerged paths (%s): resolve the conflicts, and add these files",
			hosterror.Truncate(strings.Join(unmerged, ", ")))
	}
	t := indexTrees{store: store, batch: b, rest: s.walk.index.entries, exists: map[plumbing.Hash]bool{}}
	all, err := t.dir("")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	return b.AddEntries(all), nil
}

const maxNamed = 10 // most paths that an error names

// indexTrees makes trees of the entries of an index.
type indexTrees struct {
	store  *objects.Store
	batch  *objects.Batch
	rest   []indexEntry // entries that are in no tree yet
	exists map[plumbing.Hash]bool
}

// dir returns the entries of a directory, with the trees of those below it. prefix is empty, or ends in a slash.
func (t *indexTrees) dir(prefix string) ([]objects.TreeEntry, error) {
	var all []objects.TreeEntry
	for len(t.rest) > 0 && strings.HasPrefix(t.rest[0].name, prefix) {
		e := &t.rest[0]
		name, _, isBelow := strings.Cut(e.name[len(prefix):], "/")
		if isBelow {
			entries, err := t.dir(prefix + name + "/")
			if err != nil {
				return nil, err
			}
			if len(entries) > 0 {
				all = append(all, objects.TreeEntry{Name: name, Mode: objects.ModeDir, Hash: t.batch.AddEntries(entries)})
			}
			continue
		}
		t.rest = t.rest[1:]
		if e.intent {
			continue
		}
		if err := t.check(e); err != nil {
			return nil, err
		}
		all = append(all, objects.TreeEntry{Name: name, Mode: e.mode, Hash: e.hash})
	}
	return all, nil
}

// check refuses an entry whose object does not exist, or whose path a checkout could write into .git: the index is untrusted.
func (t *indexTrees) check(e *indexEntry) error {
	if name := objects.ReservedName(e.name); name != "" && name != ".gitmodules" {
		return fmt.Errorf("%s: some file systems resolve this path of the index into .git or a parent directory", hosterror.Truncate(e.name))
	}
	if e.mode == objects.ModeSubmodule || t.exists[e.hash] {
		return nil
	}
	ok, err := t.store.Has(e.hash)
	if err == nil && !ok {
		err = fmt.Errorf("%s: the object %s of the index is missing from the repository", hosterror.Truncate(e.name), e.hash)
	}
	t.exists[e.hash] = err == nil
	return err
}
