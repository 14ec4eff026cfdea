//go:build linux || darwin

package vfs

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/beneath"
)

// Git runs what a git directory configures: hooks, core.fsmonitor, filters. It takes for one not only what
// is called .git but any directory with the structure of one: a bare repository, the target of
// --separate-git-dir, what belongs to a linked worktree. So no module changes anything in a directory that
//
//   - is called .git on some file system, or
//   - has HEAD and commondir, or HEAD, objects and refs, of whatever type,
//
// nor further down in it; and none gives a directory the last of those names, since it could have written
// the hooks before. Reading looks for none of this. A change costs one system call more for each directory
// on the way, which looks for HEAD: that there is none holds for this operation only, since whoever else
// may write there can make one at any time.

// gitParts are the names that make a git directory.
const (
	gitHead      = "HEAD"
	gitCommonDir = "commondir"
	gitObjects   = "objects"
	gitRefs      = "refs"
)

// completing is held from the look whether a name completes a git directory until it is made, so that two
// instances of this process cannot each make a half. Of those in other processes one finds, after its own
// part, that the other's is there, and takes its own back.
var completing sync.Mutex

// InGit tells whether a path is that of a .git, or of something in one, which no module may ever write. The
// path is absolute and clean.
func InGit(path string) bool { return policy{}.readOnly(path) }

// InGitDirectory tells whether a path is, or lies in, a directory that git would take for a repository's own
// whatever its name. It looks at files of the host, by path.
func InGitDirectory(path string) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		there := func(name string) bool {
			_, err := os.Lstat(filepath.Join(dir, name))
			return err == nil
		}
		if isGitDirectory(there) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// isGitDirectory reports whether a directory with these names in it is a git directory.
func isGitDirectory(there func(name string) bool) bool {
	return there(gitHead) && (there(gitCommonDir) || there(gitObjects) && there(gitRefs))
}

// in looks for names in a directory; prefix leads to it, and ends in a slash or is empty. A directory that
// cannot be searched cannot be changed either.
func in(dir *beneath.Dir, prefix string) func(name string) bool {
	return func(name string) bool {
		_, err := dir.Lstat(prefix + name)
		return err == nil
	}
}

// noteGit notes whether the directory that the walk has come to is a git directory.
func (w *walk) noteGit() {
	if w.mode.write && !w.place.inGit {
		w.place.inGit = isGitDirectory(in(w.place.dir, ""))
	}
}

// noteGitAt does the same for the last component, if that is a directory.
func (w *walk) noteGitAt() {
	if w.mode.write && !w.place.inGit && w.place.info != nil && w.place.info.IsDir() {
		w.place.inGit = isGitDirectory(in(w.place.dir, w.place.name+"/"))
	}
}

// make makes something at p, which undo takes away again, unless that would complete a git directory.
func (p *place) make(do, undo func() error) error {
	if !isGitPart(p.name) {
		return do()
	}
	completing.Lock()
	defer completing.Unlock()
	there := in(p.dir, "")
	if isGitDirectory(func(name string) bool { return FoldName(p.name) == FoldName(name) || there(name) }) {
		return refusal{errno: sys.EPERM, why: errGitDirectory}
	}
	if err := do(); err != nil {
		return err
	}
	if !isGitDirectory(there) {
		return nil
	}
	if err := undo(); err != nil {
		return err
	}
	return refusal{errno: sys.EPERM, why: errGitDirectory}
}

func isGitPart(name string) bool {
	switch FoldName(name) {
	case strings.ToLower(gitHead), gitCommonDir, gitObjects, gitRefs:
		return true
	}
	return false
}
