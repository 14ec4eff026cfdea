package module_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
)

// checkout is a CheckoutProvider that returns one directory and records the locked source.
type checkout struct {
	dir    string
	locked *config.LockedGit
}

func (c *checkout) Checkout(_ string, _ config.Git, locked *config.LockedGit) (string, error) {
	c.locked = locked
	if c.dir == "" {
		return "", errors.New("not granted")
	}
	return c.dir, nil
}

func TestSourcesRead(t *testing.T) {
	root := testenv.Tree(t, map[string]string{
		"repo/m/a.md": "a", "repo/m/in.md": "-> a.md", "repo/one.md": "one", "secret": "s",
		"repo/bad/out.md": "-> ../../secret", "repo/away": "-> ../git", "repo/p.md": "-> ../secret", "repo/alias": "-> m", "repo/link.md": "-> one.md",
		"git/top.md": "top", "git/sub/a.md": "a", "git/sub/up.md": "-> ../top.md", "git/bad/out.md": "-> ../../secret", "git/away": "-> ..",
	})
	local := func(path string) config.Module {
		return config.Module{ID: "m", Local: &config.Local{Path: path}}
	}
	git := func(subdir string) config.Module {
		return config.Module{ID: "m", Git: &config.Git{URL: "u", Subdir: subdir}}
	}
	text := func(files ...string) module.Tree {
		all := module.Tree{}
		for i := 0; i < len(files); i += 2 {
			all[files[i]] = []byte(files[i+1])
		}
		return all
	}
	tests := []struct {
		name   string
		module config.Module
		want   module.Tree // the expected files; nil if an error is expected
		says   string
	}{
		{"a directory of the repo, with a link inside of the repo", local("m"), text("a.md", "a", "in.md", "a"), ""},
		{"a directory that is a link inside of the repo", local("alias"), text("a.md", "a", "in.md", "a"), ""},
		{"a file that is a link inside of the repo", local("link.md"), text("link.md", "one"), ""},
		{"a link out of the repo", local("bad"), nil, "is not inside"},
		{"a directory that is a link out of the repo", local("away"), nil, "is not inside"},
		{"a file that is a link out of the repo", local("p.md"), nil, "is not inside"},
		{"a directory outside of the repo that the manifest names", local("../git/sub"), nil, "is not inside"},
		{"a directory outside of the repo without links out of it", local("../repo/m"), text("a.md", "a", "in.md", "a"), ""},
		{"a file outside of the repo that the manifest names", local("../secret"), text("secret", "s"), ""},
		{"a file", local("one.md"), text("one.md", "one"), ""},
		{"an absolute path", local(filepath.Join(root, "git", "top.md")), text("top.md", "top"), ""},
		{"nothing", local("none"), nil, "module m"},
		{"a directory of a checkout, with a link inside of the checkout", git("sub"), text("a.md", "a", "up.md", "top"), ""},
		{"a blank subdir is the whole checkout, which has a link to the outside", git(" "), nil, "is not inside"},
		{"a link out of a checkout", git("bad"), nil, "is not inside"},
		{"a directory that is a link out of a checkout", git("away"), nil, "is not inside"},
		{"a directory outside of a checkout", git("../repo/m"), nil, "is outside of the repository"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			sources := module.Sources{Repo: filepath.Join(root, "repo"), Checkouts: &checkout{dir: filepath.Join(root, "git")}}
			got, _, err := sources.Read(test.module)
			if test.want == nil {
				if err == nil || !strings.Contains(err.Error(), test.says) {
					t.Errorf("got %v, %v, want %q", got, err, test.says)
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

func TestSourcesUseLockfile(t *testing.T) {
	root := testenv.Tree(t, map[string]string{"s/a.md": "a"})
	from := &checkout{dir: root}
	lock := config.ParseLock([]byte(`{"version":1,"modules":[{"id":"m","resolved_source":{"git":{"url":"u2","commit":"c","subdir":"s"}}}]}`))
	wanted := config.Module{ID: "m", Git: &config.Git{URL: "u", Subdir: "elsewhere"}}
	got, _, err := (&module.Sources{Lock: lock, Checkouts: from}).Read(wanted)
	if err != nil || len(got) != 1 || from.locked == nil || from.locked.URL != "u2" {
		t.Errorf("got %v, %+v, %v", got, from.locked, err)
	}
	wanted.ID = "another"
	if _, _, err := (&module.Sources{Lock: lock, Checkouts: from}).Read(wanted); err == nil || from.locked != nil {
		t.Errorf("another module: got %v, %+v", err, from.locked)
	}
	if _, _, err := (&module.Sources{Checkouts: &checkout{}}).Read(wanted); fault.Of(err).Code != fault.Unexpected || !strings.Contains(err.Error(), "module another: not granted") {
		t.Errorf("got %v", err)
	}
}
