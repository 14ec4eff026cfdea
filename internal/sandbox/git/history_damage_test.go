package git_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// A repository that is damaged where an operation reads it fails the operation: its answer is not that of a smaller repository.
func TestDamageOfHistoryIsReported(t *testing.T) {
	const absent = "1111111111111111111111111111111111111111"
	state := func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.State(ctx, abi.GitRepo{Repo: dir})
		return err
	}
	changes := func(from, to string) func(context.Context, *git.Ops, string) error {
		return func(ctx context.Context, o *git.Ops, dir string) error {
			_, err := o.Changes(ctx, abi.GitChangesQuery{Repo: dir, From: from, To: to})
			return err
		}
	}
	packs := func(ctx context.Context, o *git.Ops, dir string) error { // each operation that opens the objects
		var all []error
		for _, call := range []func() error{
			func() error { _, err := o.Objects(ctx, abi.GitHashes{Repo: dir}); return err },
			func() error { _, err := o.Abbreviate(ctx, abi.GitHashes{Repo: dir}); return err },
			func() error { _, err := o.History(ctx, abi.GitHistoryQuery{Repo: dir}); return err },
			func() error { return changes(abi.GitIndex, abi.GitWorktree)(ctx, o, dir) },
			func() error { return state(ctx, o, dir) },
		} {
			if err := call(); err == nil {
				return nil
			} else {
				all = append(all, err)
			}
		}
		return errors.Join(all...)
	}
	sample := gittest.GitSample(t)
	for name, c := range map[string]struct {
		damage  func(r *gittest.Repo)
		operate func(context.Context, *git.Ops, string) error
	}{
		"a malformed index of a pack": {func(r *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/pack/pack-1.idx", "x")
			gittest.Write(t, r.Dot+"/objects/pack/pack-1.pack", "x")
		}, packs},
		"a directory in place of packed references": {func(r *gittest.Repo) { gittest.Mkdir(t, r.Dot+"/packed-refs") },
			func(ctx context.Context, o *git.Ops, dir string) error {
				_, err := o.Refs(ctx, abi.GitRefsQuery{Repo: dir, Prefix: "refs/heads/"})
				return err
			}},
		"an absent commit in a range": {func(*gittest.Repo) {}, func(ctx context.Context, o *git.Ops, dir string) error {
			_, err := o.History(ctx, abi.GitHistoryQuery{Repo: dir, From: []string{absent}})
			return err
		}},
		"an absent tree, from":            {func(*gittest.Repo) {}, changes(absent, abi.GitEmpty)},
		"an absent tree, to":              {func(*gittest.Repo) {}, changes(abi.GitEmpty, absent)},
		"an absent tree, index":           {func(*gittest.Repo) {}, changes(absent, abi.GitIndex)},
		"a malformed HEAD":                {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/HEAD", "x\n") }, state},
		"a malformed branch":              {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/refs/heads/main", "x\n") }, state},
		"a malformed configuration":       {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/config", "[") }, state},
		"a malformed upstream":            {func(r *gittest.Repo) { upstream(t, r); gittest.Write(t, r.Dot+"/refs/remotes/origin/main", "x\n") }, state},
		"a malformed linked HEAD":         {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/worktrees/w/HEAD", "x\n") }, state},
		"a malformed CHERRY_PICK":         {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/CHERRY_PICK_HEAD", "x\n") }, state},
		"a directory in its place":        {func(r *gittest.Repo) { gittest.Mkdir(t, r.Dot+"/REVERT_HEAD") }, state},
		"a link out of the git directory": {func(r *gittest.Repo) { gittest.Symlink(t, t.TempDir()+"/x", r.Dot+"/MERGE_HEAD") }, state},
		"a malformed reference that was checked out": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "tag", "v1")
			gittest.Git(t, r.Dir, "checkout", "-q", "v1")
			gittest.Write(t, r.Dot+"/refs/tags/v1", "x\n")
		}, state},
		"a link out in place of a directory of objects": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "checkout", "-q", "--detach")
			gittest.Git(t, r.Dir, "gc", "-q")
			head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
			gittest.Must(t, os.RemoveAll(r.Dot+"/objects/"+head[:2]))
			gittest.Symlink(t, t.TempDir(), r.Dot+"/objects/"+head[:2])
		}, state},
		"an absent object that was checked out": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "tag", "v1")
			gittest.Git(t, r.Dir, "checkout", "-q", "v1")
			gittest.Write(t, r.Dot+"/refs/tags/v1", absent+"\n")
		}, state},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample.Copy(t)
			c.damage(r)
			if err := c.operate(t.Context(), gittest.Granted(r.Dir), r.Dir); err == nil || strings.Contains(err.Error(), "the repository is damaged") {
				t.Errorf("got %v, want an error that is not that of a panic", err)
			}
		})
	}
}

// upstream makes refs/remotes/origin/main the upstream of the branch main.
func upstream(t *testing.T, r *gittest.Repo) {
	t.Helper()
	for key, value := range map[string]string{
		"remote.origin.fetch": "+refs/heads/*:refs/remotes/origin/*", "branch.main.remote": "origin", "branch.main.merge": "refs/heads/main",
	} {
		gittest.Git(t, r.Dir, "config", key, value)
	}
}

// A detached HEAD is named by the reference that was checked out as long as that refers to the same commit.
func TestDetachedHeadIsNamedByReference(t *testing.T) {
	sample := gittest.GitSample(t)
	for name, c := range map[string]struct {
		prepare func(r *gittest.Repo)
		want    string // "" for the abbreviated hash
	}{
		"a tag": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "tag", "v1")
			gittest.Git(t, r.Dir, "checkout", "-q", "v1")
		}, "v1"},
		"an annotated tag": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "tag", "-a", "-m", "x", "v1")
			gittest.Git(t, r.Dir, "checkout", "-q", "v1")
		}, "v1"},
		"a branch": {func(r *gittest.Repo) { gittest.Git(t, r.Dir, "checkout", "-q", "--detach", "main") }, "refs/heads/main"},
		"a hash": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "checkout", "-q", gittest.Git(t, r.Dir, "rev-parse", "HEAD"))
		}, ""},
		"an expression":                   {func(r *gittest.Repo) { gittest.Git(t, r.Dir, "checkout", "-q", "main~0") }, ""},
		"a tag that was moved":            {func(r *gittest.Repo) { moveTag(t, r, "tag") }, ""},
		"an annotated tag that was moved": {func(r *gittest.Repo) { moveTag(t, r, "tag", "-a", "-m", "x") }, ""},
		"a tag that was removed": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "tag", "v1")
			gittest.Git(t, r.Dir, "checkout", "-q", "v1")
			gittest.Git(t, r.Dir, "tag", "-d", "v1")
		}, ""},
		"a tag of a tree now": {func(r *gittest.Repo) {
			gittest.Git(t, r.Dir, "tag", "v1")
			gittest.Git(t, r.Dir, "checkout", "-q", "v1")
			gittest.Git(t, r.Dir, "tag", "-f", "v1", "HEAD^{tree}")
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := sample.Copy(t)
			c.prepare(r)
			if c.want == "" {
				c.want = gittest.Git(t, r.Dir, "rev-parse", "--short", "HEAD")
			}
			s, err := gittest.Granted(r.Dir).State(t.Context(), abi.GitRepo{Repo: r.Dir})
			if err != nil || s.Detached != c.want || s.Moved || s.Branch != "" {
				t.Errorf("got %+v, %v; want %s", s, err, c.want)
			}
		})
	}
}

// A log of HEAD may name anything. It must not make a file outside of the references a reference.
func TestLogOfHeadNamesNoOtherFile(t *testing.T) {
	r := gittest.GitSample(t)
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	gittest.Git(t, r.Dir, "checkout", "-q", "--detach")
	gittest.Write(t, r.Dir+"/outside", head+"\n")
	for _, name := range []string{"../outside", "../../outside", "refs/../../outside"} {
		gittest.Write(t, r.Dot+"/logs/HEAD", head+" "+head+" A <a@example.com> 1 +0000\tcheckout: moving from main to "+name+"\n")
		s, err := gittest.Granted(r.Dir).State(t.Context(), abi.GitRepo{Repo: r.Dir})
		if err != nil || s.Detached != head[:7] {
			t.Errorf("%s: got %+v, %v", name, s, err)
		}
	}
}

// moveTag checks out a tag, and then makes it refer to another commit.
func moveTag(t *testing.T, r *gittest.Repo, tag ...string) {
	t.Helper()
	gittest.Git(t, r.Dir, append(tag, "v1")...)
	gittest.Git(t, r.Dir, "checkout", "-q", "v1")
	other := gittest.Git(t, r.Dir, "commit-tree", "-m", "other", "HEAD^{tree}")
	gittest.Git(t, r.Dir, append(tag, "-f", "v1", other)...)
}

func TestOperationsInProgress(t *testing.T) {
	for want, files := range map[string][]string{
		abi.GitRebase: {"rebase-apply/next"}, abi.GitApply: {"rebase-apply/applying", "rebase-merge/onto"},
		abi.GitMerge + " " + abi.GitBisect: {"MERGE_HEAD", "BISECT_LOG"}, abi.GitRebase + " " + abi.GitBisect: {"rebase-merge/onto", "rebase-apply/next", "BISECT_LOG"},
	} {
		r := gittest.GitSample(t)
		for _, file := range files {
			gittest.Write(t, r.Dot+"/"+file, "x\n")
		}
		s, err := gittest.Granted(r.Dir).State(t.Context(), abi.GitRepo{Repo: r.Dir})
		var got []string
		for _, o := range s.Operations {
			got = append(got, o.Name)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, %v; want %s", files, got, err, want)
		}
	}
}

// The bounds are in digits here, so that a change of a constant fails.
func TestBoundsOfHistoryAreInclusive(t *testing.T) {
	r := gittest.GitSample(t)
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	ops := gittest.Granted(r.Dir)
	hashes := func(n int) []string { return slices.Repeat([]string{head}, n) }
	for name, c := range map[string]struct {
		call func() error
		want string
	}{
		"1,000 objects": {func() error {
			_, err := ops.Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: hashes(1000)})
			return err
		}, ""},
		"1,001 objects": {func() error {
			_, err := ops.Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: hashes(1001)})
			return err
		}, abi.HostInvalid},
		"1,001 abbreviations": {func() error {
			_, err := ops.Abbreviate(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: hashes(1001)})
			return err
		}, abi.HostInvalid},
		"an abbreviation of none": {func() error {
			_, err := ops.Abbreviate(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: []string{"x"}})
			return err
		}, abi.HostInvalid},
		"from 100": {func() error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: hashes(100), Exclude: hashes(100)})
			return err
		}, ""},
		"from 101": {func() error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: hashes(101)})
			return err
		}, abi.HostInvalid},
		"without 101": {func() error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, Exclude: hashes(101)})
			return err
		}, abi.HostInvalid},
		"10,000 commits": {func() error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: hashes(1), Limit: 10_000})
			return err
		}, ""},
		"10,001 commits": {func() error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: hashes(1), Limit: 10_001})
			return err
		}, abi.HostInvalid},
		"-1 commits": {func() error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: hashes(1), Limit: -1})
			return err
		}, abi.HostInvalid},
		"until -1": {func() error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: hashes(1), Until: -1})
			return err
		}, abi.HostInvalid},
		"10,000 changes": {func() error {
			_, err := ops.Changes(t.Context(), abi.GitChangesQuery{Repo: r.Dir, From: head, To: head, Limit: 10_000})
			return err
		}, ""},
		"10,001 changes": {func() error {
			_, err := ops.Changes(t.Context(), abi.GitChangesQuery{Repo: r.Dir, From: head, To: head, Limit: 10_001})
			return err
		}, abi.HostInvalid},
	} {
		if err := c.call(); gittest.Code(err) != c.want {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestPathsAndPseudoReferencesAreBounded(t *testing.T) {
	r := gittest.GitSample(t)
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	ops := gittest.Granted(r.Dir)
	for size, want := range map[int]string{4096: "", 4097: abi.HostInvalid} {
		if _, err := ops.CurrentBranch(t.Context(), abi.GitRepo{Repo: r.Dir + strings.Repeat("/", size-len(r.Dir))}); gittest.Code(err) != want {
			t.Errorf("a path of %d bytes: got %v, want %q", size, err, want)
		}
	}
	for size, want := range map[int]string{64 << 10: "", 64<<10 + 1: abi.HostFailed} {
		gittest.Write(t, r.Dot+"/CHERRY_PICK_HEAD", head+strings.Repeat("\n", size-len(head)))
		if _, err := ops.State(t.Context(), abi.GitRepo{Repo: r.Dir}); gittest.Code(err) != want {
			t.Errorf("a reference of %d bytes: got %v, want %q", size, err, want)
		}
	}
}

// Without a limit, History returns 100 commits, and Changes 1,000 files.
func TestDefaultLimitsOfHistory(t *testing.T) {
	r := gittest.New(t, t.TempDir())
	tree := r.Tree()
	head := r.Commit("first", 1, tree)
	for n := range 100 {
		head = r.Commit("more", int64(n+2), tree, head)
	}
	r.Branch("main", head)
	ops := gittest.Granted(r.Dir)
	got, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: []string{head.String()}})
	if err != nil || len(got.Commits) != 100 || !got.Truncated {
		t.Errorf("got %d commits, truncated %t, %v", len(got.Commits), got.Truncated, err)
	}
	got, err = ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: []string{head.String()}, Limit: 101})
	if err != nil || len(got.Commits) != 101 || got.Truncated {
		t.Errorf("limit 101: got %d commits, truncated %t, %v", len(got.Commits), got.Truncated, err)
	}
	full := r.Dir + "/"
	for n := range 1001 {
		gittest.Write(t, full+string(rune('a'+n%26))+strings.Repeat("x", n/26+1), "")
	}
	gittest.Git(t, r.Dir, "add", ".")
	files, err := ops.Changes(t.Context(), abi.GitChangesQuery{Repo: r.Dir, From: abi.GitEmpty, To: abi.GitIndex})
	if err != nil || len(files.Files) != 1000 || !files.Truncated {
		t.Errorf("got %d files, truncated %t, %v", len(files.Files), files.Truncated, err)
	}
}

// An answer may have exactly as many bytes as a file.
func TestSizeOfAnswersIsBounded(t *testing.T) {
	r := gittest.GitSample(t)
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	second := gittest.Git(t, r.Dir, "commit-tree", "-m", "second", "-p", head, "HEAD^{tree}")
	sizes := 0
	for _, hash := range []string{head, second} {
		sizes += len(gittestObject(t, r, hash))
	}
	for less, want := range []int{2, 1} {
		ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir}}, MaxFile: int64(sizes - less)})
		objects, err := ops.Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: []string{head, second}})
		if err != nil || len(objects.Objects) != want || objects.More != (want == 1) {
			t.Errorf("%d bytes less: got %d objects, more %t, %v", less, len(objects.Objects), objects.More, err)
		}
		commits, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, From: []string{second}})
		if err != nil || len(commits.Commits) != want || commits.Truncated != (want == 1) {
			t.Errorf("%d bytes less: got %d commits, truncated %t, %v", less, len(commits.Commits), commits.Truncated, err)
		}
	}
}

// gittestObject returns the content of an object.
func gittestObject(t *testing.T, r *gittest.Repo, hash string) []byte {
	t.Helper()
	answer, err := gittest.Granted(r.Dir).Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: []string{hash}})
	gittest.Must(t, err)
	return bytes.Clone(answer.Objects[0].Content)
}

// An operation ends with its call, even if something else fails too.
func TestEndOfCallTakesPrecedenceOverFailure(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir}}, User: func(context.Context) (git.UserConfig, error) {
		cancel()
		return nil, errors.New("unreadable")
	}})
	if _, err := ops.Status(ctx, abi.GitStatusQuery{Repo: r.Dir}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}
