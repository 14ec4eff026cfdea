package refs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// Head is HEAD and its branch under git's locks: while they are held, no other program checks out a branch or changes this one. The caller
// must release it.
type Head struct {
	Branch string        // short name; empty if HEAD is detached
	Commit plumbing.Hash // zero if the branch is unborn

	repo   *repo.Repository
	config gitconfig.File
	head   *repo.Lock
	branch *repo.Lock // nil if HEAD is detached
}

// LockHead acquires the locks of HEAD and of its branch. It refuses a HEAD that refers to something other than a branch, and a branch that
// is a symbolic reference.
func LockHead(ctx context.Context, r *repo.Repository) (*Head, error) {
	config, err := r.CheckedConfig()
	if err != nil {
		return nil, err
	}
	lock, err := r.Lock(r.GitDir, "HEAD")
	if err != nil {
		return nil, err
	}
	h := &Head{repo: r, config: config, head: lock}
	if err := h.lockBranch(ctx); err != nil {
		h.Release()
		return nil, err
	}
	return h, nil
}

func (h *Head) lockBranch(ctx context.Context) error {
	if err := checkNoLink(h.head.Dir, "HEAD"); err != nil {
		return err
	}
	hash, target, err := readLoose(h.repo, "HEAD")
	if err != nil || target == "" {
		h.Commit = hash
		return err
	}
	branch, ok := strings.CutPrefix(target, BranchPrefix)
	if !ok || CheckBranch(branch) != nil { // such as refs/bisect/bad or refs/heads/../../hooks/pre-commit
		return fmt.Errorf("HEAD refers to %q, which is not a branch: check one out", hosterror.Truncate(target))
	}
	h.Branch = branch
	if h.branch, err = h.repo.Lock(h.repo.Common, target); err != nil {
		return err
	}
	if err := checkNoLink(h.branch.Dir, target); err != nil {
		return err
	}
	if _, symbolic, err := readLoose(h.repo, target); symbolic != "" {
		return fmt.Errorf("%s is a symbolic reference to %q: check out that branch", target, hosterror.Truncate(symbolic))
	} else if err != nil && !repo.IsAbsent(err) {
		return err
	}
	commit, exists, err := Resolve(ctx, h.repo, target)
	if err == nil && !exists {
		return checkAbsent(ctx, h.repo, h.branch.Dir, branch)
	}
	h.Commit = commit
	return err
}

// checkNoLink refuses a reference that is a symbolic link, as old versions of git made them: its target is not locked.
func checkNoLink(dir *beneath.Dir, name string) error {
	if info, err := dir.Lstat(name); err == nil && info.IsLink() {
		return fmt.Errorf("%s is a symbolic link, which operations that change a repository do not follow", name)
	}
	return nil
}

// Set makes HEAD's branch, or a detached HEAD, refer to a commit, and records that in the reflogs. committer is a signature of the form
// `NAME <MAIL> SECONDS ZONE`.
func (h *Head) Set(commit plumbing.Hash, committer, message string) error {
	line := logLine(h.Commit, commit, committer, message)
	logs := loggedReferences(h.config)
	if err := appendLog(h.head.Dir, "HEAD", line, logs); err != nil {
		return err
	}
	lock := h.head
	if h.branch != nil {
		lock = h.branch
		if err := appendLog(h.branch.Dir, BranchPrefix+h.Branch, line, logs); err != nil {
			return err
		}
	}
	return lock.Replace([]byte(commit.String() + "\n"))
}

// Release releases the locks, unless Set has done so.
func (h *Head) Release() {
	if h.branch != nil {
		h.branch.Release()
	}
	h.head.Release()
}

// loggedReferences reports whether git creates reflogs in the repository. A reflog that exists is always continued.
func loggedReferences(config gitconfig.File) bool {
	if value, _ := config.Last("core", "", "logallrefupdates"); strings.EqualFold(value, "always") {
		return true
	}
	return config.Bool("core", "logallrefupdates", true)
}

// logLine returns a line of a reflog. Like git, it makes each run of white space in the message one space.
func logLine(from, to plumbing.Hash, committer, message string) string {
	words := strings.FieldsFunc(message, func(c rune) bool { return strings.ContainsRune(" \t\n\r", c) })
	return fmt.Sprintf("%s %s %s\t%s\n", from, to, committer, strings.Join(words, " "))
}

// appendLog appends a line to the reflog of a reference. dir is the git directory that contains the reference. If create is unset, a reflog
// that does not exist stays absent.
func appendLog(dir *beneath.Dir, reference, line string, create bool) error {
	name, flag := "logs/"+reference, os.O_WRONLY|os.O_APPEND
	if create {
		flag |= os.O_CREATE
		if err := dir.MkdirAll(path.Dir(name), 0o777); err != nil {
			return fmt.Errorf("%s: %w", name, repo.ExplainLink(dir, name, err))
		}
	}
	f, info, err := dir.Open(name, flag, 0o666)
	if errors.Is(err, syscall.EISDIR) && dir.Rmdir(name) == nil { // git leaves empty directories of reflogs behind
		f, info, err = dir.Open(name, flag, 0o666)
	}
	if !create && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, repo.ExplainLink(dir, name, err))
	}
	if info.Nlink > 1 { // what is appended would be in another file too, which could be a hook
		_ = f.Close()
		return fmt.Errorf("%s has several hard links: replace it by a copy", name)
	}
	_, err = f.WriteString(line)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
