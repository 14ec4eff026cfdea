package vfs

import (
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
)

// Git runs programs that a git directory configures: hooks, core.fsmonitor, filters. Git recognizes such a directory not only by
// the name .git but also by its structure: a bare repository, the target of --separate-git-dir, the directory of a linked
// worktree. A module that could write to one would execute code as the user. So no module changes anything in or below a
// directory that
//
//   - some file system treats as named .git, or
//   - contains HEAD and commondir, or HEAD, objects and refs, whatever their types.
//
// Nor does a module create the last missing one of these names in a directory, since it could have written hooks there before.
// Reads are not affected. A change costs one more system call for each directory on the path, to look for HEAD; the result is not
// cached, since other processes can create HEAD at any time.

// The names that make a directory a git directory.
const (
	gitHead      = "HEAD"
	gitCommonDir = "commondir"
	gitObjects   = "objects"
	gitRefs      = "refs"
)

// completing makes checking for a git directory and creating a name one critical section, so that two instances in this
// process cannot each create a part. If two processes race, at least one of them finds the directory complete after it
// has created its part, and rolls the part back.
var completing sync.Mutex

// InGitDirectory reports whether a path is, or is below, a directory that git recognizes by its structure. It is for the
// host process: it looks at files by path.
func InGitDirectory(path string) bool {
	for dir := path; ; dir = filepath.Dir(dir) {
		exists := func(name string) bool {
			_, err := os.Lstat(filepath.Join(dir, name))
			return err == nil
		}
		if isGitDirectory(exists) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// isGitDirectory reports whether a directory that contains certain names is a git directory.
func isGitDirectory(contains func(name string) bool) bool {
	return contains(gitHead) && (contains(gitCommonDir) || contains(gitObjects) && contains(gitRefs))
}

// lookIn returns a function that reports whether a directory contains a name. prefix is "" or a path below dir that ends in a
// slash. Errors count as absence: a directory that cannot be searched cannot be changed either.
func lookIn(dir *beneath.Dir, prefix string) func(name string) bool {
	return func(name string) bool {
		_, err := dir.Lstat(prefix + name)
		return err == nil
	}
}

// detectGit sets inGit if the directory that the walk has reached is a git directory.
func (w *walk) detectGit() {
	if w.mode.write && !w.place.inGit {
		w.place.inGit = isGitDirectory(lookIn(w.place.dir, ""))
	}
}

// detectGitAt sets inGit if the last component is a git directory.
func (w *walk) detectGitAt() {
	if w.mode.write && !w.place.inGit && w.place.info != nil && w.place.info.IsDir() {
		w.place.inGit = isGitDirectory(lookIn(w.place.dir, w.place.name+"/"))
	}
}

// create runs do, which creates p, unless p would complete a git directory. undo removes p.
func (p *place) create(do, undo func() error) error {
	if !isGitPart(p.name) {
		return do()
	}
	completing.Lock()
	defer completing.Unlock()
	contains := lookIn(p.dir, "")
	if isGitDirectory(func(name string) bool { return FoldName(p.name) == FoldName(name) || contains(name) }) {
		return refusal{errno: sys.EPERM, why: errGitDirectory}
	}
	if err := do(); err != nil {
		return err
	}
	if !isGitDirectory(contains) {
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
