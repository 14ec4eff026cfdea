package git_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestHistoryAgreesWithRevList compares ranges of random histories, in which dates of parents and children are in any order, with git rev-list.
func TestHistoryAgreesWithRevList(t *testing.T) {
	gittest.RequireGit(t)
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 6 {
		r := gittest.New(t, t.TempDir())
		tree := r.Tree()
		var all []plumbing.Hash
		for i := range 60 {
			var parents []plumbing.Hash
			for range min(i, 1+random.IntN(3)) {
				if p := all[max(0, i-1-random.IntN(6))]; !slices.Contains(parents, p) {
					parents = append(parents, p)
				}
			}
			at := int64(1_000_000 + i*100)
			if round%2 == 1 {
				at += int64(random.IntN(150))
			}
			all = append(all, r.Commit(fmt.Sprint("c", i), at, tree, parents...))
		}
		r.Branch("main", all[len(all)-1])
		ops := gittest.Granted(r.Dir)
		for range 25 {
			from, not := all[random.IntN(60)].String(), all[random.IntN(60)].String()
			since, until := int64(0), int64(0)
			args := []string{"rev-list", from}
			q := abi.GitHistoryQuery{Repo: r.Dir, From: []string{from}, Limit: 1 + random.IntN(70)}
			switch random.IntN(3) {
			case 0:
				args = append(args, "^"+not)
				q.Exclude = []string{not}
			case 1:
				since, until = 1_000_000+int64(random.IntN(3000)), 1_003_000+int64(random.IntN(3000))
				args = append(args, fmt.Sprint("--max-age=", since), fmt.Sprint("--min-age=", until))
				q.Since, q.Until = since, until
			}
			want := strings.Fields(gittest.Git(t, r.Dir, args...))
			got, err := ops.History(t.Context(), q)
			gittest.Must(t, err)
			var hashes []string
			for _, c := range got.Commits {
				hashes = append(hashes, c.Hash)
			}
			if !slices.Equal(hashes, want[:min(q.Limit, len(want))]) || got.Truncated != (len(want) > q.Limit) {
				t.Fatalf("git %v, limit %d:\n got %v, truncated %t\nwant %v", args, q.Limit, hashes, got.Truncated, want)
			}
			q.Count = true
			if counted, err := ops.History(t.Context(), q); err != nil || counted.Count != len(want) || counted.Commits != nil {
				t.Fatalf("git %v: counted %+v, %v; want %d", args, counted, err, len(want))
			}
		}
	}
}

// TestChangesAgreeWithGitDiff compares each kind of changes with git diff --raw.
func TestChangesAgreeWithGitDiff(t *testing.T) {
	r := gittest.GitSample(t)
	first := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	gittest.Write(t, r.Dir+"/dir.txt", "beside a directory of this name\n")
	gittest.Write(t, r.Dir+"/notes.txt", "committed\n")
	gittest.Write(t, r.Dir+"/dir/other/x", "x\n")
	gittest.Git(t, r.Dir, "add", ".")
	gittest.Git(t, r.Dir, "commit", "-qm", "second")
	gittest.Write(t, r.Dir+"/staged.txt", "staged\n")
	gittest.Git(t, r.Dir, "rm", "-q", "empty.txt")
	gittest.Must(t, os.Chmod(r.Dir+"/run.sh", 0o644))
	gittest.Git(t, r.Dir, "add", "staged.txt", "run.sh")
	gittest.Write(t, r.Dir+"/staged.txt", "changed again\n")
	gittest.Write(t, r.Dir+"/notes.txt", "changed\n")
	gittest.Must(t, os.Remove(r.Dir+"/link"))
	gittest.Write(t, r.Dir+"/link", "no link\n")
	gittest.Must(t, os.RemoveAll(r.Dir+"/dir/other"))
	gittest.Write(t, r.Dir+"/planned", "intent\n")
	gittest.Git(t, r.Dir, "add", "-N", "planned")
	gittest.Write(t, r.Dir+"/untracked", "not a change\n")
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	empty := gittest.Git(t, r.Dir, "hash-object", "-t", "tree", "/dev/null")
	for _, c := range []struct {
		from, to string
		args     []string
	}{
		{first, head, []string{first, head}},
		{head, first, []string{head, first}},
		{abi.GitEmpty, head, []string{empty, head}},
		{head, abi.GitEmpty, []string{head, empty}},
		{head, abi.GitIndex, []string{"--cached", head}},
		{first, abi.GitIndex, []string{"--cached", first}},
		{abi.GitEmpty, abi.GitIndex, []string{"--cached", empty}},
		{abi.GitIndex, abi.GitWorktree, nil},
		{head, abi.GitWorktree, []string{head}},
		{first, abi.GitWorktree, []string{first}},
	} {
		args := append([]string{"diff", "--raw", "--no-abbrev", "--no-renames", "-z"}, c.args...)
		var want []string
		fields := strings.Split(gittest.Git(t, r.Dir, args...), "\x00")
		for i := 0; i+1 < len(fields); i += 2 {
			f := strings.Fields(strings.TrimPrefix(fields[i], ":"))
			want = append(want, fmt.Sprint(fields[i+1], " ", f[0], " ", f[2], " ", f[1], " ", f[3]))
		}
		got, err := gittest.Granted(r.Dir).Changes(t.Context(), abi.GitChangesQuery{Repo: r.Dir, From: c.from, To: c.to})
		gittest.Must(t, err)
		var have []string
		text := func(v abi.GitFileVersion) (mode, hash string) {
			if v.Mode == "" {
				v.Mode = "000000"
			}
			if v.Hash == "" {
				v.Hash = plumbing.ZeroHash.String()
			}
			return v.Mode, v.Hash
		}
		for _, f := range got.Files {
			oldMode, oldHash := text(f.Old)
			newMode, newHash := text(f.New)
			have = append(have, fmt.Sprint(string(f.Path), " ", oldMode, " ", oldHash, " ", newMode, " ", newHash))
		}
		if !slices.Equal(have, want) {
			t.Errorf("git %v\n got %s\nwant %s", args, strings.Join(have, "\n     "), strings.Join(want, "\n     "))
		}
		few, err := gittest.Granted(r.Dir).Changes(t.Context(), abi.GitChangesQuery{Repo: r.Dir, From: c.from, To: c.to, Limit: 1})
		if err != nil || len(few.Files) != min(1, len(want)) || few.Truncated != (len(want) > 1) {
			t.Errorf("git %v, limit 1: got %d files, truncated %t, %v", args, len(few.Files), few.Truncated, err)
		}
	}
}

func TestRefsAgreeWithForEachRef(t *testing.T) {
	r := gittest.GitSample(t)
	for _, name := range []string{"a", "b/c", "b/d/e", "z"} {
		gittest.Git(t, r.Dir, "branch", name)
	}
	gittest.Git(t, r.Dir, "pack-refs", "--all")
	gittest.Git(t, r.Dir, "branch", "b/loose")
	gittest.Git(t, r.Dir, "tag", "-a", "-m", "x", "tagged")
	gittest.Git(t, r.Dir, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/heads/main")
	gittest.Git(t, r.Dir, "symbolic-ref", "refs/heads/dangling", "refs/heads/absent")
	gittest.Write(t, r.Dot+"/refs/heads/broken", "no hash\n")
	gittest.Write(t, r.Dot+"/refs/heads/b/x.lock", "")
	for _, prefix := range []string{"refs/heads/", "refs/heads/b/", "refs/tags/", "refs/remotes/", "refs/none/"} {
		want := gittest.Git(t, r.Dir, "for-each-ref", "--format=%(refname) %(objectname) %(symref)", prefix)
		want = strings.TrimSpace(strings.Join(slices.DeleteFunc(strings.Split(want, "\n"), func(line string) bool {
			return strings.Contains(line, "ignoring") || strings.Contains(line, "warning")
		}), "\n"))
		refs, err := gittest.Granted(r.Dir).Refs(t.Context(), abi.GitRefsQuery{Repo: r.Dir, Prefix: prefix})
		gittest.Must(t, err)
		var got []string
		for _, ref := range refs.Refs {
			got = append(got, ref.Name+" "+ref.Hash+" "+ref.Target)
		}
		if text := strings.TrimSpace(strings.Join(got, "\n")); text != want {
			t.Errorf("%s\n got %s\nwant %s", prefix, text, want)
		}
	}
}

func TestObjectsAndAbbreviations(t *testing.T) {
	r := gittest.GitSample(t)
	gittest.Git(t, r.Dir, "tag", "-a", "-m", "x", "tagged")
	var hashes []string
	for _, name := range []string{"HEAD", "HEAD^{tree}", "HEAD:notes.txt", "tagged"} {
		hashes = append(hashes, gittest.Git(t, r.Dir, "rev-parse", name))
	}
	absent := strings.Repeat("1", 40)
	ops := gittest.Granted(r.Dir)
	got, err := ops.Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: append(hashes, absent)})
	gittest.Must(t, err)
	short, err := ops.Abbreviate(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: hashes})
	gittest.Must(t, err)
	for i, hash := range hashes {
		kind, size := gittest.Git(t, r.Dir, "cat-file", "-t", hash), gittest.Git(t, r.Dir, "cat-file", "-s", hash)
		if o := got.Objects[i]; o.Hash != hash || o.Type != kind || strconv.Itoa(len(o.Content)) != size {
			t.Errorf("%s: got %s of %d bytes; want %s of %s", hash, o.Type, len(o.Content), kind, size)
		}
		if want := gittest.Git(t, r.Dir, "rev-parse", "--short", hash); short.Hashes[i] != want {
			t.Errorf("%s: got %s, want %s", hash, short.Hashes[i], want)
		}
	}
	if o := got.Objects[4]; o.Hash != absent || o.Type != "" {
		t.Errorf("an absent object: %+v", o)
	}
	large := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir}}, MaxFile: 5})
	if page, err := large.Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: []string{hashes[2], hashes[2]}}); err != nil || len(page.Objects) != 1 || !page.More {
		t.Errorf("a page of 5 bytes: %+v, %v", page, err)
	}
	gittest.FailsWith(t, "more than the limit", func(ctx context.Context) error {
		_, err := large.Objects(ctx, abi.GitHashes{Repo: r.Dir, Hashes: hashes[:1]})
		return err
	})
}

func TestState(t *testing.T) {
	r := gittest.GitSample(t)
	ops := gittest.Granted(r.Dir)
	state := func() abi.GitState {
		t.Helper()
		s, err := ops.State(t.Context(), abi.GitRepo{Repo: r.Dir + "/dir"})
		gittest.Must(t, err)
		return s
	}
	head := gittest.Git(t, r.Dir, "rev-parse", "HEAD")
	if s := state(); !s.Found || s.TopLevel != r.Dir || s.Branch != "main" || s.Commit != head || s.Upstream != "" || s.Operations != nil {
		t.Errorf("a branch: %+v", s)
	}
	gittest.Git(t, r.Dir, "config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/up/*")
	gittest.Git(t, r.Dir, "config", "branch.main.remote", "origin")
	gittest.Git(t, r.Dir, "config", "branch.main.merge", "refs/heads/trunk")
	if s := state(); s.Upstream != "refs/remotes/up/trunk" || s.UpstreamCommit != "" {
		t.Errorf("an absent upstream: %+v", s)
	}
	gittest.Git(t, r.Dir, "update-ref", "refs/remotes/up/trunk", head)
	if s := state(); s.UpstreamCommit != head {
		t.Errorf("an upstream: %+v", s)
	}
	// A configuration that names another file of .git as the upstream is ignored.
	gittest.Git(t, r.Dir, "config", "remote.origin.fetch", "+refs/heads/*:../*")
	if s := state(); s.Upstream != "" {
		t.Errorf("an upstream outside of refs: %+v", s)
	}
	gittest.Git(t, r.Dir, "config", "--unset", "remote.origin.fetch")
	gittest.Git(t, r.Dir, "worktree", "add", "-q", "-b", "other", t.TempDir()+"/w")
	if s := state(); !slices.Equal(s.Worktrees, []string{"refs/heads/other"}) {
		t.Errorf("a worktree: %+v", s)
	}
	gittest.Git(t, r.Dir, "tag", "v1")
	gittest.Git(t, r.Dir, "checkout", "-q", "v1")
	if s := state(); s.Branch != "" || s.Detached != "v1" || s.Moved {
		t.Errorf("a detached HEAD: %+v", s)
	}
	gittest.Git(t, r.Dir, "commit", "-q", "--allow-empty", "-m", "x")
	if s := state(); s.Detached != "v1" || !s.Moved {
		t.Errorf("a moved HEAD: %+v", s)
	}
	for file, want := range map[string]abi.GitOperation{
		"MERGE_HEAD": {Name: abi.GitMerge}, "CHERRY_PICK_HEAD": {Name: abi.GitCherryPick, Commit: head[:7]}, "REVERT_HEAD": {Name: abi.GitRevert, Commit: head[:7]},
		"BISECT_LOG": {Name: abi.GitBisect}, "rebase-merge/onto": {Name: abi.GitRebase}, "rebase-apply/applying": {Name: abi.GitApply},
	} {
		gittest.Write(t, r.Dot+"/"+file, head+"\n")
		if s := state(); !slices.Equal(s.Operations, []abi.GitOperation{want}) {
			t.Errorf("%s: %+v", file, s.Operations)
		}
		dir, _, _ := strings.Cut(file, "/")
		gittest.Must(t, os.RemoveAll(r.Dot+"/"+dir))
	}
}

// TestReadsOfHistoryAreChecked sends malformed requests, requests outside of the grant, and damaged files.
func TestReadsOfHistoryAreChecked(t *testing.T) {
	r := gittest.GitSample(t)
	ops := gittest.Granted(r.Dir)
	hash := strings.Repeat("1", 40)
	many := slices.Repeat([]string{hash}, 1001)
	outside := gittest.GitSample(t).Dir
	calls := map[string]func(repo string) error{
		"state": func(repo string) error { _, err := ops.State(t.Context(), abi.GitRepo{Repo: repo}); return err },
		"refs": func(repo string) error {
			_, err := ops.Refs(t.Context(), abi.GitRefsQuery{Repo: repo, Prefix: "refs/heads/"})
			return err
		},
		"history": func(repo string) error {
			_, err := ops.History(t.Context(), abi.GitHistoryQuery{Repo: repo})
			return err
		},
		"changes": func(repo string) error {
			_, err := ops.Changes(t.Context(), abi.GitChangesQuery{Repo: repo, From: abi.GitIndex, To: abi.GitWorktree})
			return err
		},
		"objects":    func(repo string) error { _, err := ops.Objects(t.Context(), abi.GitHashes{Repo: repo}); return err },
		"abbreviate": func(repo string) error { _, err := ops.Abbreviate(t.Context(), abi.GitHashes{Repo: repo}); return err },
	}
	for name, call := range calls {
		for repo, want := range map[string]string{r.Dir: "", outside: abi.HostDenied, r.Dir + "/../" + outside: abi.HostDenied, "relative": abi.HostInvalid} {
			if code := gittest.Code(call(repo)); code != want {
				t.Errorf("%s of %s: got %q, want %q", name, repo, code, want)
			}
		}
	}
	for _, prefix := range []string{"", "refs", "refs/heads", "refs/../", "refs//", "heads/", "/refs/", "refs/a b/", "refs/.x/", "refs/x.lock/"} {
		if _, err := ops.Refs(t.Context(), abi.GitRefsQuery{Repo: r.Dir, Prefix: prefix}); gittest.Code(err) != abi.HostInvalid {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
	for _, sides := range [][2]string{{"", ""}, {abi.GitWorktree, abi.GitIndex}, {abi.GitIndex, abi.GitIndex}, {abi.GitIndex, hash}, {"HEAD", abi.GitIndex}, {"-p", hash}} {
		if _, err := ops.Changes(t.Context(), abi.GitChangesQuery{Repo: r.Dir, From: sides[0], To: sides[1]}); gittest.Code(err) != abi.HostInvalid {
			t.Errorf("changes %q: %v", sides, err)
		}
	}
	_, tooMany := ops.Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: many})
	_, noHash := ops.Objects(t.Context(), abi.GitHashes{Repo: r.Dir, Hashes: []string{"HEAD"}})
	_, tooFar := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, Limit: 10_001})
	_, before := ops.History(t.Context(), abi.GitHistoryQuery{Repo: r.Dir, Since: -1})
	_, limit := ops.Changes(t.Context(), abi.GitChangesQuery{Repo: r.Dir, From: hash, To: hash, Limit: -1})
	for i, err := range []error{tooMany, noHash, tooFar, before, limit} {
		if gittest.Code(err) != abi.HostInvalid {
			t.Errorf("%d: %v", i, err)
		}
	}
	gittest.Write(t, r.Dot+"/logs/HEAD", "x x\tcheckout: moving from a to b\n")
	gittest.Git(t, r.Dir, "update-ref", "--no-deref", "HEAD", "HEAD")
	gittest.Write(t, r.Dot+"/logs/HEAD", "x x\tcheckout: moving from a to b\n")
	gittest.FailsWith(t, "not a hash", func(context.Context) error { return calls["state"](r.Dir) })
}
