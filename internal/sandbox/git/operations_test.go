package git_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// operations are the operations that read a repository.
var operations = map[string]func(ctx context.Context, o *git.Ops, dir string) error{
	"BranchExists": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.BranchExists(ctx, abi.GitBranch{Repo: dir, Branch: "main"})
		return err
	},
	"CurrentBranch": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.CurrentBranch(ctx, abi.GitRepo{Repo: dir})
		return err
	},
	"FindCommit": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.FindCommit(ctx, abi.GitSearch{Repo: dir, Text: "first"})
		return err
	},
	"Ignored": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.Ignored(ctx, abi.GitPaths{Repo: dir, Paths: []string{filepath.Join(dir, "x")}})
		return err
	},
	"ReadFile": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.ReadFile(ctx, abi.GitFile{Repo: dir, Branch: "main", Path: "notes.txt"})
		return err
	},
	"RemoteURL": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.RemoteURL(ctx, abi.GitRemote{Repo: dir})
		return err
	},
	"ResolveRef": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.ResolveRef(ctx, abi.GitRef{Repo: dir, Ref: "main"})
		return err
	},
	"Status": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.Status(ctx, abi.GitStatusQuery{Repo: dir})
		return err
	},
	"TopLevel": func(ctx context.Context, o *git.Ops, dir string) error {
		_, err := o.TopLevel(ctx, abi.GitPath{Path: dir})
		return err
	},
}

func TestCanceledOperationsReadNothing(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, operate := range operations {
		if err := operate(t.Context(), gittest.Granted(r.Dir), r.Dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := operate(ctx, gittest.Granted(r.Dir), r.Dir); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled: got %v", name, err)
		}
	}
}

// A damaged repository must not look like one without commits or references.
func TestDamagedRepositoryIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		damage     func(r *gittest.Repo)
		operations []string
	}{
		"a malformed index of a pack": {func(r *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/pack/pack-1.idx", "x")
			gittest.Write(t, r.Dot+"/objects/pack/pack-1.pack", "x")
		},
			[]string{"FindCommit", "ReadFile", "ResolveRef", "Status"}},
		"absent objects": {func(r *gittest.Repo) {
			gittest.Must(t, os.RemoveAll(r.Dot+"/objects"))
			gittest.Mkdir(t, r.Dot+"/objects")
		},
			[]string{"FindCommit", "ReadFile", "Status"}},
		"a malformed reference": {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/refs/heads/main", "x\n") },
			[]string{"BranchExists", "CurrentBranch", "FindCommit", "ReadFile", "ResolveRef", "Status"}},
		"a malformed configuration": {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/config", "[") }, []string{"RemoteURL", "Status", "Ignored"}},
	} {
		r := gittest.Sample(t, filepath.Join(t.TempDir(), "r"))
		c.damage(r)
		for _, operation := range c.operations {
			if err := operations[operation](t.Context(), gittest.Granted(r.Dir), r.Dir); gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), r.Dir) {
				t.Errorf("%s, %s: got %v", name, operation, err)
			}
		}
	}
}

func TestCommitInDamagedRepositoryIsReported(t *testing.T) {
	for name, damage := range map[string]func(r *gittest.Repo){
		"a malformed index of a pack": func(r *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/pack/pack-1.idx", "x")
			gittest.Write(t, r.Dot+"/objects/pack/pack-1.pack", "x")
		},
		"absent objects":             func(r *gittest.Repo) { gittest.Must(t, os.RemoveAll(r.Dot+"/objects")) },
		"a malformed HEAD":           func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/HEAD", "x\n") },
		"a file in place of objects": func(r *gittest.Repo) { occupyObjects(t, r) },
	} {
		r := gittest.Sample(t, filepath.Join(t.TempDir(), "r"))
		damage(r)
		before := gittest.Snapshot(t, r.Dir)
		_, err := gittest.Writer(r.Dir).CommitBranch(t.Context(), gittest.NewCommit(r, gittest.Text("a", "a")))
		if gittest.Code(err) != abi.HostFailed || strings.Contains(err.Error(), "the repository is damaged") { // which is the error of a panic
			t.Errorf("%s: got %v", name, err)
		}
		after := gittest.Snapshot(t, r.Dir)
		if _, made := after[".git/refs/heads/new"]; made || name != "a file in place of objects" && len(after) != len(before) {
			t.Errorf("%s: the repository was changed: %s", name, cmp.Diff(before, after))
		}
	}
}

// occupyObjects puts files where the directories of new objects would be.
func occupyObjects(t *testing.T, r *gittest.Repo) {
	t.Helper()
	for n := range 256 {
		path := filepath.Join(r.Dot, "objects", fmt.Sprintf("%02x", n))
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			gittest.Write(t, path, "")
		}
	}
}

// Without the user's configuration, ignored files would count as untracked, and commits would have another author.
func TestUnreadableUserConfigurationIsReported(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	unreadable := errors.New("unreadable")
	ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir, Write: true}}, User: func(context.Context) (git.UserConfig, error) { return nil, unreadable }})
	operations := map[string]func(ctx context.Context, o *git.Ops, dir string) error{"Ignored": operations["Ignored"], "Status": operations["Status"],
		"CommitBranch": func(ctx context.Context, o *git.Ops, _ string) error {
			_, err := o.CommitBranch(ctx, gittest.NewCommit(r, gittest.Text("a", "a")))
			return err
		}}
	for name, operate := range operations {
		if err := operate(t.Context(), ops, r.Dir); gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "unreadable") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestRequestsAreBounded(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	ops := gittest.Granted(r.Dir)
	paths := make([]string, 1001)
	for i := range paths {
		paths[i] = filepath.Join(r.Dir, "x")
	}
	for name, c := range map[string]struct {
		operate func() error
		valid   bool
	}{
		"1000 paths": {func() error {
			_, err := ops.Ignored(t.Context(), abi.GitPaths{Repo: r.Dir, Paths: paths[:1000]})
			return err
		}, true},
		"1001 paths": {func() error { _, err := ops.Ignored(t.Context(), abi.GitPaths{Repo: r.Dir, Paths: paths}); return err }, false},
		"10000 changes": {func() error {
			_, err := ops.Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir, Limit: 10_000})
			return err
		}, true},
		"10001 changes": {func() error {
			_, err := ops.Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir, Limit: 10_001})
			return err
		}, false},
		"-1 changes": {func() error {
			_, err := ops.Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir, Limit: -1})
			return err
		}, false},
		"a text of 1 KiB": {func() error {
			_, err := ops.FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: strings.Repeat("x", 1024)})
			return err
		}, true},
		"a remote of 1 KiB": {func() error {
			_, err := ops.RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir, Remote: strings.Repeat("x", 1024)})
			return err
		}, true},
		"a longer name of a remote": {func() error {
			_, err := ops.RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir, Remote: strings.Repeat("x", 1025)})
			return err
		}, false},
		"a remote like an option": {func() error {
			_, err := ops.RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir, Remote: "-x"})
			return err
		}, false},
		"an invalid name of a remote": {func() error {
			_, err := ops.RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir, Remote: "a..b"})
			return err
		}, false},
	} {
		if err := c.operate(); c.valid && err != nil || !c.valid && gittest.Code(err) != abi.HostInvalid {
			t.Errorf("%s: got %v, want it to be valid: %t", name, err, c.valid)
		}
	}
}

// The limit of Status is what the request sets, and 1000 without one.
func TestStatusHasAsManyChangesAsRequested(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	for n := range 1001 {
		gittest.Write(t, filepath.Join(r.Dir, fmt.Sprint("untracked", n)), "")
	}
	for limit, want := range map[int]int{0: 1000, 3: 3, 1001: 1001} {
		got, err := gittest.Granted(r.Dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.Dir, Limit: limit})
		if err != nil || len(got.Paths) != want {
			t.Errorf("a limit of %d: got %d changes, %v; want %d", limit, len(got.Paths), err, want)
		}
	}
}

// Refusals are for the admin too, other failures are not.
func TestDeniedOperationsAreLogged(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	var log bytes.Buffer
	ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: r.Dir}}, Log: hclog.New(&hclog.LoggerOptions{Output: &log})})
	if err := operations["Status"](t.Context(), ops, "relative"); gittest.Code(err) != abi.HostInvalid || log.Len() > 0 {
		t.Errorf("an invalid request: got %v, logged %s", err, &log)
	}
	if err := operations["Status"](t.Context(), ops, filepath.Dir(r.Dir)); gittest.Code(err) != abi.HostDenied || strings.Count(log.String(), "[WARN]  git: denied") != 1 {
		t.Errorf("a denied request: got %v, logged %s", err, &log)
	}
}

// Creating the branch of an unborn HEAD would change the commit to which HEAD resolves.
func TestBranchOfUnbornHeadIsNotCreated(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	r.SetHead("unborn")
	before := gittest.Snapshot(t, r.Dir)
	q := gittest.NewCommit(r, gittest.Text("a", "a"))
	q.Branch, q.Base = "unborn", "main"
	if _, err := gittest.Writer(r.Dir).CommitBranch(t.Context(), q); gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "is the current branch (HEAD)") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(before, gittest.Snapshot(t, r.Dir)); diff != "" {
		t.Error(diff)
	}
}

func TestFilesHaveEightMiBByDefault(t *testing.T) {
	r := gittest.New(t, t.TempDir())
	r.Branch("main", r.Commit("m\n", 1, r.Tree(gittest.File("fits", r.Blob(strings.Repeat("f", 8<<20))), gittest.File("over", r.Blob(strings.Repeat("f", 8<<20+1))))))
	ops := gittest.Granted(r.Dir)
	if got, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: "fits"}); err != nil || len(got.Content) != 8<<20 {
		t.Errorf("got %d bytes, %v", len(got.Content), err)
	}
	if _, err := ops.ReadFile(t.Context(), abi.GitFile{Repo: r.Dir, Branch: "main", Path: "over"}); gittest.Code(err) != abi.HostFailed {
		t.Errorf("a byte more: got %v", err)
	}
}

func TestGrantThatCannotBeOpenedIsReported(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	file, err := os.Open(filepath.Join(r.Dot, "HEAD"))
	gittest.Must(t, err)
	defer file.Close()
	ops := git.New(git.Config{Grants: []git.Grant{{Repo: r.Dir, Dir: file}}})
	for name, operate := range operations {
		if err := operate(t.Context(), ops, r.Dir); gittest.Code(err) != abi.HostFailed {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
