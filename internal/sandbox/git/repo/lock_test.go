//go:build unix

package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
)

func TestLockReplacesFile(t *testing.T) {
	r := gittest.Sample(t, t.TempDir())
	found := gittest.Open(t, r.Dir)
	lock, err := found.Lock(found.Common, "refs/heads/a/b")
	gittest.Must(t, err)
	if _, err := found.Lock(found.Common, "refs/heads/a/b"); err == nil || !strings.Contains(err.Error(), "refs/heads/a/b.lock exists") {
		t.Errorf("a second lock: %v", err)
	}
	if _, err := os.Lstat(r.Dot + "/refs/heads/a/b.lock"); err != nil {
		t.Errorf("the refused lock has removed the lock file: %v", err)
	}
	gittest.Must(t, lock.Replace([]byte("content")))
	lock.Release()
	all := gittest.Snapshot(t, r.Dot+"/refs/heads/a")
	if len(all) != 1 || all[r.Dot+"/refs/heads/a/b"] != "content" {
		t.Errorf("the directory has %q", all)
	}
	lock, err = found.Lock(found.Common, "refs/heads/a/b")
	gittest.Must(t, err)
	lock.Release()
	if all := gittest.Snapshot(t, r.Dot+"/refs/heads/a"); len(all) != 1 {
		t.Errorf("after an unused lock the directory has %q", all)
	}
}

// A link in a repository may lead to its hooks or its configuration, or to files that the plugin may not write.
func TestLockFollowsNoLink(t *testing.T) {
	cases := []struct{ rule, link, target, file string }{
		{"the directory of branches is a link", "refs/heads", "../hooks", "refs/heads/pre-commit"},
		{"a directory of branches is a link", "refs/heads/x", "../../hooks", "refs/heads/x/pre-commit"},
		{"all references are a link", "refs", "hooks", "refs/heads/pre-commit"},
		{"the lock is a link", "index.lock", "hooks/pre-commit", "index"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.Sample(t, t.TempDir())
			found := gittest.Open(t, r.Dir)
			gittest.Mkdir(t, r.Dot+"/hooks/heads")
			gittest.Must(t, os.RemoveAll(filepath.Join(r.Dot, c.link)))
			gittest.Symlink(t, c.target, filepath.Join(r.Dot, c.link))
			before := gittest.Snapshot(t, r.Dir)
			lock, err := found.Lock(found.Common, c.file)
			if err == nil {
				lock.Release()
				t.Fatal("the lock was acquired")
			}
			if c.link != "index.lock" && !strings.Contains(err.Error(), c.link+" is a symbolic link") {
				t.Errorf("the error does not name the link: %v", err)
			}
			if after := gittest.Snapshot(t, r.Dir); len(after) != len(before) {
				t.Errorf("files were created: %q, before %q", after, before)
			}
		})
	}
	t.Run("the locked file is a link", func(t *testing.T) {
		r := gittest.Sample(t, t.TempDir())
		found := gittest.Open(t, r.Dir)
		gittest.Write(t, r.Dot+"/hooks/pre-commit", "hook")
		gittest.Symlink(t, "hooks/pre-commit", r.Dot+"/index")
		lock, err := found.Lock(found.GitDir, "index")
		gittest.Must(t, err)
		defer lock.Release()
		gittest.Must(t, lock.Replace([]byte("content")))
		if all := gittest.Snapshot(t, r.Dot); all[r.Dot+"/hooks/pre-commit"] != "hook" || all[r.Dot+"/index"] != "content" {
			t.Errorf("the link was followed: %q", all)
		}
	})
}
