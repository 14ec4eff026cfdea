package worktree

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

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
)

const (
	maxVisited = 1_000_000 // most files and directories of a working tree
	maxNesting = 512       // most levels of nested directories
	maxRead    = 1 << 30   // most bytes of files that one operation hashes
	listBatch  = 1024      // number of directory entries that are read at a time
)

// Codes of index entries that are used internally. All other codes are those of git status.
const (
	notSeen   byte = 0 // also if a symbolic link has replaced a directory of the path
	unchanged byte = 1 // of an unmerged path: its file is there
	replaced  byte = 2 // by a directory
)

// walk compares a working tree with its index, and finds untracked files.
type walk struct {
	ctx       context.Context
	repo      *repo.Repository
	index     *index
	ignore    *ignore.Matcher
	fileMode  bool   // value of core.fileMode: whether the execute bit matters
	codes     []byte // code of each entry, by its position in the index
	untracked []string
	limit     int
	expand    bool                   // whether untracked directories are entered, except repositories
	wanted    func(name string) bool // whether the walk looks at a file or enters a directory; nil for all
	visited   int
	read      int64 // bytes of files hashed so far
}

// code returns the code of entry i after the walk; 0 if its file is unchanged. A file that the walk did not see is deleted.
func (w *walk) code(i int) byte {
	switch e := &w.index.entries[i]; {
	case w.codes[i] == unchanged, e.stage != 0:
		return 0
	case w.codes[i] != notSeen && w.codes[i] != replaced:
		return w.codes[i]
	case e.skipped, e.assumed:
		return 0
	}
	return 'D'
}

// list returns the entries of a directory, sorted by name and without .git. dir is empty or a path such as "a/b/".
func (w *walk) list(dir string) ([]beneath.Entry, error) {
	if strings.Count(dir, "/") > maxNesting || len(dir) > objects.MaxPath {
		return nil, fmt.Errorf("%s: nested deeper than %d directories", hosterror.Truncate(dir), maxNesting)
	}
	name := path.Join(w.repo.Top, dir)
	f, _, err := w.repo.Work.Handle.Open(name, os.O_RDONLY, 0)
	if repo.IsAbsent(err) {
		return nil, nil // the directory was removed after its parent was listed
	}
	if err != nil {
		return nil, w.repo.Work.Explain(name, err)
	}
	defer f.Close()
	var all []beneath.Entry
	for l := beneath.List(f); ; {
		some, err := l.Read(listBatch)
		if w.visited += len(some); w.visited > maxVisited {
			return nil, fmt.Errorf("the working tree has more than %d files and directories", maxVisited)
		}
		if all = append(all, some...); len(all) > repo.MaxNames {
			return nil, fmt.Errorf("%s: contains more than %d files", w.repo.Work.Abs(name), repo.MaxNames)
		}
		if err == io.EOF {
			break
		}
		if err == nil {
			err = w.ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.repo.Work.Abs(name), err)
		}
	}
	all = slices.DeleteFunc(all, func(e beneath.Entry) bool { return e.Name == ".git" })
	slices.SortFunc(all, func(a, b beneath.Entry) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// dir compares the files of a directory with the index. The path of the directory is empty, or ends in a slash as in "a/b/".
func (w *walk) dir(dir string, level *ignore.Level) error {
	entries, err := w.list(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch name := dir + e.Name; {
		case w.wanted != nil && !w.wanted(name):
		case e.IsDir():
			err = w.subdir(name, level)
		case isSpecial(e):
			if i, ok := w.index.find(name); ok {
				w.codes[i] = 'M'
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

// isSpecial reports whether a file is of a type that git ignores, such as a named pipe.
func isSpecial(e beneath.Entry) bool { return e.Type&^(fs.ModeDir|fs.ModeSymlink) != 0 }

func (w *walk) subdir(name string, level *ignore.Level) error {
	if i, ok := w.index.find(name); ok {
		if t := w.index.entries[i]; t.mode == objects.ModeSubmodule && t.stage == 0 {
			var err error
			w.codes[i], err = w.submodule(name, t.hash)
			return err
		}
		w.codes[i] = replaced // git reports only the file, as deleted
		if !w.expand {
			return nil
		}
	}
	ignored, err := w.ignore.Ignores(level, name, true)
	if err != nil {
		return err
	}
	tracked := w.index.hasBelow(name + "/")
	if tracked || w.expand && !ignored && !w.isRepository(name) {
		next, err := w.ignore.Enter(level, name+"/", ignored)
		if err != nil {
			return err
		}
		return w.dir(name+"/", next)
	}
	if ignored {
		return nil
	}
	found := w.expand // then it is a repository
	if !found {
		found, err = w.hasUntracked(name, level)
	}
	if err != nil || !found {
		return err
	}
	return w.addUntracked(name + "/")
}

// isRepository reports whether git would take a directory for a repository of its own.
func (w *walk) isRepository(dir string) bool {
	dotGit := path.Join(w.repo.Top, dir, ".git")
	info, err := w.repo.Work.Handle.Lstat(dotGit)
	if err != nil {
		return false
	}
	_, err = w.repo.Work.Handle.Lstat(path.Join(dotGit, "HEAD"))
	return err == nil || info.Mode.IsRegular()
}

// beyondLink reports whether a symbolic link has replaced one of the directories of a path.
func (w *walk) beyondLink(name string) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := w.repo.Work.Handle.Lstat(path.Join(w.repo.Top, dir)); err == nil && info.IsLink() {
			return true
		}
	}
	return false
}

// submodule compares a submodule's HEAD with the index. A submodule that is absent, or whose repository cannot be opened below the grant, is
// reported as unchanged.
func (w *walk) submodule(name string, want plumbing.Hash) (byte, error) {
	head, ok, err := w.submoduleHead(name)
	if ok && head != want {
		return 'M', nil
	}
	return unchanged, err
}

// hasUntracked reports whether an untracked directory contains a file that is not ignored, or is a repository. Git reports no other
// untracked directories.
func (w *walk) hasUntracked(name string, level *ignore.Level) (bool, error) {
	if w.isRepository(name) {
		return true, nil
	}
	level, err := w.ignore.Enter(level, name+"/", false)
	if err != nil {
		return false, err
	}
	entries, err := w.list(name + "/")
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if isSpecial(e) {
			continue
		}
		child := name + "/" + e.Name
		ignored, err := w.ignore.Ignores(level, child, e.IsDir())
		if err != nil {
			return false, err
		}
		if ignored {
			continue
		}
		if !e.IsDir() {
			return true, nil
		}
		if found, err := w.hasUntracked(child, level); found || err != nil {
			return found, err
		}
	}
	return false, nil
}

func (w *walk) file(name string, level *ignore.Level) error {
	i, tracked := w.index.find(name)
	if !tracked {
		ignored, err := w.ignore.Ignores(level, name, false)
		if err != nil || ignored {
			return err
		}
		return w.addUntracked(name)
	}
	if w.index.entries[i].stage != 0 {
		w.codes[i] = unchanged
		return nil
	}
	code, err := w.compare(&w.index.entries[i])
	w.codes[i] = code
	return err
}

func (w *walk) addUntracked(name string) error {
	if len(w.untracked) <= w.limit { // keeps one path more than the limit, to detect truncation
		w.untracked = append(w.untracked, name)
	}
	return nil
}

var emptyBlob = objects.HashOf(plumbing.BlobObject, nil)

// compare returns the code of a tracked file after comparing it with its index entry.
func (w *walk) compare(t *indexEntry) (byte, error) {
	if t.assumed || t.skipped {
		return unchanged, nil
	}
	info, err := w.repo.Work.Handle.Lstat(path.Join(w.repo.Top, t.name))
	if repo.IsAbsent(err) {
		return notSeen, nil
	}
	if err != nil {
		return notSeen, err
	}
	mode := w.modeOf(t, info)
	stat := statOf(info)
	switch {
	case t.intent:
		return 'A', nil
	case mode&^0o777 != t.mode&^0o777:
		return 'T', nil
	case mode != t.mode:
		return 'M', nil
	case t.stat.same(stat) && !w.index.isRacy(t.stat) && (t.stat.size != 0 || t.hash == emptyBlob):
		return unchanged, nil
	case t.stat.size != 0 && t.stat.size != stat.size: // git also writes 0 to force a comparison of the contents
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

// modeOf returns the mode of a file that is an entry's file or has replaced it.
func (w *walk) modeOf(t *indexEntry, info beneath.Stat) uint32 {
	switch {
	case info.Mode&fs.ModeSymlink != 0:
		return objects.ModeLink
	case !w.fileMode && t.mode == objects.ModeExecutable, w.fileMode && info.Mode&0o100 != 0:
		return objects.ModeExecutable
	}
	return objects.ModeFile
}

// same reports whether two results of stat are equal. It does not compare a field that one of them does not record.
func (s fileStat) same(now fileStat) bool {
	return s.mtime == now.mtime && (s.mtimeNs == 0 || s.mtimeNs == now.mtimeNs) &&
		s.ctime == now.ctime && (s.ctimeNs == 0 || s.ctimeNs == now.ctimeNs) &&
		s.inode == now.inode && s.size == now.size
}

// isRacy reports whether an entry is racily clean: its file may have been modified after it was added, within the same tick of the file
// system's clock. Equal stat data then proves nothing.
func (x *index) isRacy(s fileStat) bool {
	sec, ns := x.written.Unix(), x.written.Nanosecond()
	return int64(s.mtime) > sec || int64(s.mtime) == sec && (s.mtimeNs == 0 || int(s.mtimeNs) >= ns)
}

// sameContent compares the hash of a file with the hash in the index.
func (w *walk) sameContent(t *indexEntry, info beneath.Stat) (bool, error) {
	name := path.Join(w.repo.Top, t.name)
	if t.mode == objects.ModeLink {
		target, err := w.repo.Work.Handle.Readlink(name)
		if err != nil {
			return false, nil // the file is no longer a symbolic link
		}
		return objects.HashOf(plumbing.BlobObject, []byte(target)) == t.hash, nil
	}
	f, err := w.repo.Work.Open(name)
	if repo.IsAbsent(err) || errors.Is(err, fs.ErrPermission) {
		return false, nil // a file that cannot be read is reported as modified
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
		if w.read += n; w.read > maxRead {
			return false, fmt.Errorf("more than %d bytes of files would have to be read: run git status, which refreshes the index", maxRead)
		}
		switch {
		case w.ctx.Err() != nil:
			return false, w.ctx.Err()
		case left < 0:
			return false, nil // the file has grown since stat
		case err == io.EOF:
			return left == 0 && plumbing.Hash(h.Sum(nil)) == t.hash, nil
		case err != nil:
			return false, fmt.Errorf("%s: %w", w.repo.Work.Abs(name), err)
		}
	}
}
