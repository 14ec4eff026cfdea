package discovery

import (
	"os"
	"strings"
	"testing"
)

func TestTopLevel(t *testing.T) {
	dir := t.TempDir()
	for _, made := range []string{"/repo/.git", "/repo/a/b", "/repo/tree/c"} {
		if err := os.MkdirAll(dir+made, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/repo/tree/.git", []byte("gitdir: elsewhere\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct{ dir, want string }{
		"the top level itself":                       {"/repo", "/repo"},
		"a directory below it":                       {"/repo/a/b", "/repo"},
		"a directory that does not exist yet":        {"/repo/a/new", "/repo"},
		"a nested one whose .git is a file":          {"/repo/tree/c", "/repo/tree"},
		"the .git directory belongs to its worktree": {"/repo/.git", "/repo"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := topLevel(dir + c.dir)
			if !ok || got != dir+c.want {
				t.Errorf("got %q, %v; want %q", got, ok, dir+c.want)
			}
		})
	}
	t.Run("no repository", func(t *testing.T) {
		if top, ok := topLevel("/"); ok {
			t.Skipf("the machine's root is a repository: %s", top)
		}
		if got, ok := topLevel(dir); ok && strings.HasPrefix(got, dir) {
			t.Errorf("got %q", got)
		}
	})
}
