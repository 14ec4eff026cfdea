package gittest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/beneath"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Someone is the author of commits that the operations of Writer create.
var Someone = git.Identity{Name: "Some One", Email: "one@example.com"}

// Granted returns operations with read access to the directories dirs.
func Granted(dirs ...string) *git.Ops {
	var c git.Config
	for _, dir := range dirs {
		c.Grants = append(c.Grants, git.Grant{Repo: dir})
	}
	return NewOps(c)
}

// Writer returns operations with write access to dir, and with a clock that stands still.
func Writer(dir string) *git.Ops {
	return NewOps(git.Config{Grants: []git.Grant{{Repo: dir, Write: true}}, User: User(git.User{Identity: Someone}),
		Now: func() time.Time { return time.Unix(1700000000, 5).In(time.FixedZone("", 3600)) }})
}

// Committer returns operations that may change the index and the current branch of dir. Their author is that of Git.
func Committer(dir string) *git.Ops {
	return NewOps(git.Config{Grants: []git.Grant{{Repo: dir, Commit: true}}, User: User(git.User{Identity: git.Identity{Name: "A", Email: "a@example.com"}}),
		Now: func() time.Time { return time.Unix(1700000000, 5).In(time.FixedZone("", 3600)) }})
}

// CommitterDate is the date of the operations of Committer, for the environment of git.
const CommitterDate = "1700000000 +0100"

// User returns a function for git.Config.User that returns user.
func User(user git.User) func(context.Context) (git.UserConfig, error) {
	return func(context.Context) (git.UserConfig, error) { return git.UserConfig{{User: user}}, nil }
}

// NewOps returns operations after it has resolved and opened the granted directories that exist, as the host does.
func NewOps(c git.Config) *git.Ops {
	for i := range c.Grants {
		g := &c.Grants[i]
		if real, err := filepath.EvalSymlinks(g.Repo); err == nil {
			g.Repo = real
		}
		g.Dir, _ = os.Open(g.Repo)
	}
	return git.New(c)
}

// NewCommit returns a request for a commit on the new branch "new".
func NewCommit(r *Repo, changes ...abi.GitChange) abi.GitNewCommit {
	return abi.GitNewCommit{Repo: r.Dir, Branch: "new", Message: "propose\n\nbody\n\n", Changes: changes}
}

// Text returns a change that sets the content of a file.
func Text(path, content string) abi.GitChange {
	return abi.GitChange{Path: path, Content: []byte(content)}
}

// Find returns a function that searches for a commit that does not exist, which reads the whole history.
func Find(r *Repo) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := Granted(r.Dir).FindCommit(ctx, abi.GitSearch{Repo: r.Dir, Text: "not there"})
		return err
	}
}

// HasBranch returns a function that looks up the branch "main".
func HasBranch(r *Repo) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := Granted(r.Dir).BranchExists(ctx, abi.GitBranch{Repo: r.Dir, Branch: "main"})
		return err
	}
}

// Read returns a function that reads notes.txt on the branch "main".
func Read(r *Repo) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := Granted(r.Dir).ReadFile(ctx, abi.GitFile{Repo: r.Dir, Branch: "main", Path: "notes.txt"})
		return err
	}
}

// FindSample looks up the branch, a file and a commit of a Sample from a directory. The test fails unless the three results agree: all are
// found, none is found, or all lookups fail with the same code.
func FindSample(t *testing.T, grant, dir string) (found bool, err error) {
	t.Helper()
	ops := Granted(grant)
	found, err = ops.BranchExists(t.Context(), abi.GitBranch{Repo: dir, Branch: "main"})
	content, err2 := ops.ReadFile(t.Context(), abi.GitFile{Repo: dir, Branch: "main", Path: "notes.txt"})
	commit, err3 := ops.FindCommit(t.Context(), abi.GitSearch{Repo: dir, Text: "second"})
	if content.Found != found || (commit.Hash != "") != found || Code(err2) != Code(err) || Code(err3) != Code(err) {
		t.Errorf("the operations disagree:\nbranch %v, %v\nfile %v, %v\ncommit %q, %v", found, err, content.Found, err2, commit.Hash, err3)
	}
	return found, err
}

// Code returns the code of a host error. It returns an empty string for nil, and the message of any other error.
func Code(err error) string {
	if err == nil {
		return ""
	}
	if host, ok := err.(*abi.HostError); ok {
		return host.Code
	}
	return fmt.Sprintf("not a host error: %v", err)
}

// Timeout bounds the duration of an operation on hostile input. It is long enough for loaded machines, so exceeding it means a hang.
const Timeout = time.Minute

// maxHostileMemory is the number of bytes that an operation on hostile input may allocate in total.
const maxHostileMemory = 400 << 20

// FailsWith runs f, an operation on hostile input. The test fails unless f returns, within bounded time and memory, a HostFailed error whose
// message contains why.
func FailsWith(t *testing.T, why string, f func(context.Context) error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan error, 1)
	start := time.Now()
	go func() { done <- f(t.Context()) }()
	select {
	case err := <-done:
		if Code(err) != abi.HostFailed || !strings.Contains(err.Error(), why) {
			t.Errorf("got %v; want a failure that says %q", err, why)
		}
		if err != nil && (!utf8.ValidString(err.Error()) || len(err.Error()) > 4<<10) {
			t.Errorf("the message is too long or not UTF-8: %q", err)
		}
	case <-time.After(Timeout):
		t.Fatalf("still running after %v", time.Since(start))
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > maxHostileMemory {
		t.Errorf("allocated %d MB of memory", used>>20)
	}
}

// EndAfter returns a context that is canceled after n calls of its method Err. Tests cancel operations in progress with it.
func EndAfter(ctx context.Context, n int) context.Context { return &countedContext{ctx, n} }

type countedContext struct {
	context.Context
	left int
}

func (c *countedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Open returns the repository at dir, which is the granted directory too.
func Open(tb testing.TB, dir string) *repo.Repository {
	tb.Helper()
	f, err := os.Open(dir)
	Must(tb, err)
	tb.Cleanup(func() { _ = f.Close() })
	handle, err := beneath.New(f)
	Must(tb, err)
	r, err := repo.NewRoot(handle.Following(), dir, dir).Find(dir)
	Must(tb, err)
	if r == nil {
		tb.Fatalf("no repository at %s", dir)
	}
	return r
}
