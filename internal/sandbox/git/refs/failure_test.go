package refs_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
)

// What cannot be read of the references is an error: it does not count as absent.
func TestUnreadableReferencesAreReported(t *testing.T) {
	list := func(ctx context.Context, t *testing.T, r *gittest.Repo) error {
		_, err := refs.List(ctx, gittest.Open(t, r.Dir), "refs/heads/")
		return err
	}
	resolve := func(ctx context.Context, t *testing.T, r *gittest.Repo) error {
		_, _, err := refs.Resolve(ctx, gittest.Open(t, r.Dir), "refs/heads/absent")
		return err
	}
	newBranch := func(ctx context.Context, t *testing.T, r *gittest.Repo) error {
		b, err := refs.LockNewBranch(ctx, gittest.Open(t, r.Dir), "new/branch")
		if err == nil {
			b.Release()
		}
		return err
	}
	outside := t.TempDir()
	for name, c := range map[string]struct {
		damage  func(r *gittest.Repo)
		operate func(context.Context, *testing.T, *gittest.Repo) error
	}{
		"a directory of branches outside": {func(r *gittest.Repo) {
			gittest.Must(t, os.RemoveAll(r.Dot+"/refs/heads"))
			gittest.Symlink(t, outside, r.Dot+"/refs/heads")
		}, list},
		"a branch outside": {func(r *gittest.Repo) { gittest.Symlink(t, outside, r.Dot+"/refs/heads/outside") }, list},
		"a branch outside, below": {func(r *gittest.Repo) {
			gittest.Mkdir(t, r.Dot+"/refs/heads/a")
			gittest.Symlink(t, outside, r.Dot+"/refs/heads/a/b")
		}, list},
		"packed references outside, list": {func(r *gittest.Repo) { gittest.Symlink(t, outside+"/x", r.Dot+"/packed-refs") }, list},
		"packed references outside":       {func(r *gittest.Repo) { gittest.Symlink(t, outside+"/x", r.Dot+"/packed-refs") }, resolve},
		"packed references outside, new":  {func(r *gittest.Repo) { gittest.Symlink(t, outside+"/x", r.Dot+"/packed-refs") }, newBranch},
		"a directory of a branch outside": {func(r *gittest.Repo) { gittest.Symlink(t, outside, r.Dot+"/refs/heads/new") }, newBranch},
		"a reflog outside": {func(r *gittest.Repo) {
			gittest.Must(t, os.RemoveAll(r.Dot+"/logs"))
			gittest.Symlink(t, outside, r.Dot+"/logs")
		}, func(_ context.Context, t *testing.T, r *gittest.Repo) error {
			_, _, err := refs.LastCheckout(gittest.Open(t, r.Dir))
			return err
		}},
		"worktrees outside": {func(r *gittest.Repo) { gittest.Symlink(t, outside, r.Dot+"/worktrees") },
			func(ctx context.Context, t *testing.T, r *gittest.Repo) error {
				_, err := refs.OtherWorktrees(ctx, gittest.Open(t, r.Dir))
				return err
			}},
		"a malformed HEAD, locked": {func(r *gittest.Repo) { gittest.Write(t, r.Dot+"/HEAD", "x\n") },
			func(ctx context.Context, t *testing.T, r *gittest.Repo) error {
				h, err := refs.LockHead(ctx, gittest.Open(t, r.Dir))
				if err == nil {
					h.Release()
				}
				return err
			}},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.Sample(t, t.TempDir())
			c.damage(r)
			if err := c.operate(t.Context(), t, r); err == nil {
				t.Error("got no error")
			}
		})
	}
}

// Each operation ends with its call, at whatever point that ends.
func TestReferencesAreReadUntilCallEnds(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	gittest.Write(t, r.Dot+"/packed-refs", strings.Repeat(strings.Repeat("a", 40)+" refs/tags/x\n", 3))
	gittest.Write(t, r.Dot+"/worktrees/w/HEAD", "ref: refs/heads/other\n")
	for name, operate := range map[string]func(context.Context) error{
		"list": func(ctx context.Context) error { _, err := refs.List(ctx, gittest.Open(t, r.Dir), "refs/"); return err },
		"resolve": func(ctx context.Context) error {
			_, _, err := refs.Resolve(ctx, gittest.Open(t, r.Dir), "refs/heads/absent")
			return err
		},
		"worktrees": func(ctx context.Context) error {
			_, err := refs.OtherWorktrees(ctx, gittest.Open(t, r.Dir))
			return err
		},
	} {
		ended := 0
		for n := range 1000 {
			err := operate(gittest.EndAfter(t.Context(), n))
			if err == nil {
				break
			}
			if err != context.Canceled {
				t.Errorf("%s, which ends after %d checks: got %v", name, n, err)
			}
			ended++
		}
		if ended == 0 || ended == 1000 {
			t.Errorf("%s: ended %d times before it succeeded", name, ended)
		}
	}
}

// The bounds are in digits here, so that a change of a constant fails.
func TestListedReferencesAreBounded(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	for n := range 10_000 {
		gittest.Write(t, fmt.Sprintf("%s/refs/many/%02d/%02d", r.Dot, n/100, n%100), strings.Repeat("a", 40)+"\n")
	}
	if all, err := refs.List(t.Context(), gittest.Open(t, r.Dir), "refs/many/"); err != nil || len(all) != 10_000 {
		t.Errorf("got %d references, %v", len(all), err)
	}
	gittest.Write(t, r.Dot+"/packed-refs", strings.Repeat("a", 40)+" refs/many/more\n")
	if _, err := refs.List(t.Context(), gittest.Open(t, r.Dir), "refs/many/"); err == nil || !strings.Contains(err.Error(), "more than 10000 references") {
		t.Errorf("one more: got %v", err)
	}
}
