package git

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

const (
	maxVisited = 1_000_000 // files and folders of a working tree that are looked at
	maxNesting = 512       // folders in one another
)

// States of an entry of the index that are not codes of a change.
const (
	notSeen   byte = 0
	unchanged byte = 1
)

// workWalk compares a working tree with the index, and finds what is untracked.
type workWalk struct {
	ctx       context.Context
	repo      *repository
	index     *dircache
	ignore    *ignorer
	fileMode  bool
	state     []byte // of each entry of the index: a code, or one of the above
	untracked []string
	limit     int
	visited   int
	read      int64 // bytes of files that had to be read
}

// code gives an entry's code; 0 if its file is unchanged. What the walk did not see is gone.
func (w *workWalk) code(i int) byte {
	switch e := &w.index.entries[i]; {
	case w.state[i] == unchanged, e.stage != 0:
		return 0
	case w.state[i] != notSeen:
		return w.state[i]
	case e.skipped, e.assumed:
		return 0
	}
	return 'D'
}

// list reads a folder ("" or "a/b/") of the working tree in the order of names, without what git passes by.
func (w *workWalk) list(folder string) ([]beneath.Entry, error) {
	if strings.Count(folder, "/") > maxNesting || len(folder) > maxPath {
		return nil, fmt.Errorf("%s: nested deeper than %d folders", shorten(folder), maxNesting)
	}
	name := path.Join(w.repo.top, folder)
	f, _, err := w.repo.root.dir.Open(name, os.O_RDONLY, 0)
	if absent(err) {
		return nil, nil // gone since it was listed
	}
	if err != nil {
		return nil, w.repo.root.explain(name, err)
	}
	defer f.Close()
	var all []beneath.Entry
	for l := beneath.List(f); ; {
		some, err := l.Read(listAtOnce)
		if w.visited += len(some); w.visited > maxVisited {
			return nil, fmt.Errorf("over %d files and folders in the working tree", maxVisited)
		}
		if all = append(all, some...); len(all) > maxNames {
			return nil, fmt.Errorf("%s: over %d files", w.repo.root.abs(name), maxNames)
		}
		if err == io.EOF {
			break
		}
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.repo.root.abs(name), err)
		}
	}
	all = slices.DeleteFunc(all, func(e beneath.Entry) bool {
		return e.Name == ".git"
	})
	slices.SortFunc(all, func(a, b beneath.Entry) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// folder compares what a folder holds.
func (w *workWalk) folder(folder string, level *ignoreLevel) error {
	entries, err := w.list(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := folder + e.Name; {
		case e.IsDir():
			err = w.subfolder(name, level)
		case special(e):
			if i, ok := w.index.find(name); ok {
				w.state[i] = 'M'
			}
		default:
			err = w.file(name, level)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// special reports whether a file is neither a regular one nor a link: git passes it by.
func special(e beneath.Entry) bool { return e.Type&^(fs.ModeDir|fs.ModeSymlink) != 0 }

func (w *workWalk) subfolder(name string, level *ignoreLevel) error {
	if i, ok := w.index.find(name); ok {
		if t := w.index.entries[i]; t.mode == modeSubmodule && t.stage == 0 {
			var err error
			w.state[i], err = w.submodule(name, t.hash)
			return err
		}
		return nil // where a file should be: git names that file alone
	}
	ignored, err := w.ignore.ignored(level, name, true)
	if err != nil {
		return err
	}
	if w.index.hasBelow(name + "/") {
		next, err := w.ignore.enter(level, name+"/", ignored)
		if err != nil {
			return err
		}
		return w.folder(name+"/", next)
	}
	if ignored {
		return nil
	}
	found, err := w.holdsUntracked(name, level)
	if err != nil || !found {
		return err
	}
	return w.addUntracked(name + "/")
}

// submodule compares the commit that a submodule is at. One that is not there, or lies out of reach, is
// as the index has it.
func (w *workWalk) submodule(name string, want plumbing.Hash) (byte, error) {
	sub, err := w.repo.root.repositoryAt(path.Join(w.repo.top, name))
	if err == nil && sub != nil {
		var head plumbing.Hash
		var ok bool
		if head, ok, err = sub.resolve(w.ctx, "HEAD"); err == nil && ok && head != want {
			return 'M', nil
		}
	}
	if w.ctx.Err() != nil {
		return unchanged, w.ctx.Err()
	}
	return unchanged, nil
}

// holdsUntracked reports whether an untracked folder has a file that is not ignored, or is a repository
// of its own. Git does not name one that has neither.
func (w *workWalk) holdsUntracked(name string, level *ignoreLevel) (bool, error) {
	dotGit := path.Join(w.repo.top, name, ".git")
	if info, err := w.repo.root.dir.Lstat(dotGit); err == nil {
		if _, err := w.repo.root.dir.Lstat(path.Join(dotGit, "HEAD")); err == nil || info.Mode.IsRegular() {
			return true, nil
		}
	}
	level, err := w.ignore.enter(level, name+"/", false)
	if err != nil {
		return false, err
	}
	entries, err := w.list(name + "/")
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if special(e) {
			continue
		}
		child := name + "/" + e.Name
		ignored, err := w.ignore.ignored(level, child, e.IsDir())
		if err != nil {
			return false, err
		}
		if ignored {
			continue
		}
		if !e.IsDir() {
			return true, nil
		}
		if found, err := w.holdsUntracked(child, level); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func (w *workWalk) file(name string, level *ignoreLevel) error {
	i, tracked := w.index.find(name)
	if !tracked {
		ignored, err := w.ignore.ignored(level, name, false)
		if err != nil || ignored {
			return err
		}
		return w.addUntracked(name)
	}
	if w.index.entries[i].stage != 0 {
		return nil
	}
	code, err := w.compare(&w.index.entries[i])
	w.state[i] = code
	return err
}

func (w *workWalk) addUntracked(name string) error {
	if len(w.untracked) <= w.limit { // one more than is wanted, to know that there are more
		w.untracked = append(w.untracked, name)
	}
	return nil
}

// compare gives the code of a tracked file.
func (w *workWalk) compare(t *tracked) (byte, error) {
	if t.assumed || t.skipped {
		return unchanged, nil
	}
	info, err := w.repo.root.dir.Lstat(path.Join(w.repo.top, t.name))
	if absent(err) {
		return notSeen, nil
	}
	if err != nil {
		return notSeen, err
	}
	mode := uint32(modeFile)
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		mode = modeLink
	case !w.fileMode && t.mode == modeExecutable, w.fileMode && info.Mode&0o100 != 0:
		mode = modeExecutable
	}
	stat := statOf(info)
	switch {
	case t.intent:
		return 'A', nil
	case mode&^0o777 != t.mode&^0o777:
		return 'T', nil
	case mode != t.mode:
		return 'M', nil
	case t.stat.same(stat) && !w.index.racy(t.stat):
		return unchanged, nil
	case t.stat.size != 0 && t.stat.size != stat.size: // 0 is also what git writes to have it read
		return 'M', nil
	}
	same, err := w.sameContent(t, info)
	if err != nil {
		return notSeen, err
	}
	if !same {
		return 'M', nil
	}
	return unchanged, nil
}

// same compares what two looks at a file gave.
func (s fileStat) same(now fileStat) bool {
	return s.mtime == now.mtime && (s.mtimeNs == 0 || s.mtimeNs == now.mtimeNs) &&
		s.ctime == now.ctime && (s.ctimeNs == 0 || s.ctimeNs == now.ctimeNs) &&
		s.inode == now.inode && s.size == now.size
}

// racy reports whether a file may have been changed after git looked at it, and before the clock moved.
func (d *dircache) racy(s fileStat) bool {
	sec, ns := d.written.Unix(), d.written.Nanosecond()
	return int64(s.mtime) > sec || int64(s.mtime) == sec && (s.mtimeNs == 0 || int(s.mtimeNs) >= ns)
}

// sameContent compares a file's content with its hash in the index.
func (w *workWalk) sameContent(t *tracked, info beneath.Stat) (bool, error) {
	name := path.Join(w.repo.top, t.name)
	if t.mode == modeLink {
		target, err := w.repo.root.dir.Readlink(name)
		if err != nil {
			return false, nil // it is another file by now
		}
		return hashOf(object{plumbing.BlobObject, []byte(target)}) == t.hash, nil
	}
	f, err := w.repo.root.open(name)
	if absent(err) || errors.Is(err, fs.ErrPermission) {
		return false, nil // it cannot be said to be the same
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "blob %d\x00", info.Size)
	for left := info.Size; ; {
		n, err := io.CopyN(h, f, 1<<20)
		left -= n
		if w.read += n; w.read > maxWork {
			return false, fmt.Errorf("over %d bytes of files had to be read; git status brings the index up to date", maxWork)
		}
		switch {
		case w.ctx.Err() != nil:
			return false, w.ctx.Err()
		case left < 0:
			return false, nil // it grows
		case err == io.EOF:
			return left == 0 && plumbing.Hash(h.Sum(nil)) == t.hash, nil
		case err != nil:
			return false, fmt.Errorf("%s: %w", w.repo.root.abs(name), err)
		}
	}
}
