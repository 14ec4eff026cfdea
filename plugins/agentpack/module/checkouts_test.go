package module_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
)

const url = "https://git.example/acme/modules.git"

var (
	one = strings.Repeat("1", 40)
	two = strings.Repeat("2", 40)
)

// remote is a Remote with one repository. If refs is empty, the remote refuses access to the repository.
type remote struct {
	refs  []module.RemoteRef
	files []module.RemoteFile
	asked []string
}

var errDenied = errors.New("not granted")

func (r *remote) ListRemote(url string, names ...string) ([]module.RemoteRef, error) {
	r.asked = append(r.asked, "list "+strings.Join(names, " "))
	if r.refs == nil {
		return nil, errDenied
	}
	var found []module.RemoteRef
	for _, ref := range r.refs {
		for _, name := range names {
			if ref.Name == name {
				found = append(found, ref)
			}
		}
	}
	return found, nil
}

func (r *remote) Fetch(url, commit string, take func(module.RemoteFile) error) error {
	r.asked = append(r.asked, "fetch "+commit)
	if r.refs == nil {
		return errDenied
	}
	for _, file := range r.files {
		if err := take(file); err != nil {
			return err
		}
	}
	return nil
}

func file(path, content string) module.RemoteFile {
	return module.RemoteFile{Path: path, Content: []byte(content)}
}

func link(path, target string) module.RemoteFile {
	return module.RemoteFile{Path: path, Link: true, Content: []byte(target)}
}

func TestCheckoutResolvesReference(t *testing.T) {
	cases := []struct {
		name   string
		ref    string
		locked *config.LockedGit
		refs   []module.RemoteRef
		want   string // the expected commit; "" if an error is expected
		asked  string
	}{
		{"a commit hash is not resolved remotely", strings.ToUpper(strings.Repeat("a", 40)), nil, []module.RemoteRef{}, strings.Repeat("a", 40), ""},
		{"a branch", "main", nil, []module.RemoteRef{{Name: "refs/heads/main", Hash: one}}, one, "list refs/heads/main refs/tags/main"},
		{"a lightweight tag", "v1", nil, []module.RemoteRef{{Name: "refs/tags/v1", Hash: two}}, two, "list refs/heads/v1 refs/tags/v1"},
		{"an annotated tag has precedence over a branch", "v1", nil, []module.RemoteRef{{Name: "refs/heads/v1", Hash: one}, {Name: "refs/tags/v1", Hash: one, Peeled: two}}, two, "list refs/heads/v1 refs/tags/v1"},
		{"a branch has precedence over a lightweight tag", "v1", nil, []module.RemoteRef{{Name: "refs/heads/v1", Hash: one}, {Name: "refs/tags/v1", Hash: two}}, one, "list refs/heads/v1 refs/tags/v1"},
		{"none", "main", nil, []module.RemoteRef{}, "", ""},
		{"a hash that is not a commit hash", "main", nil, []module.RemoteRef{{Name: "refs/heads/main", Hash: "../../x"}}, "", ""},
		{"the lockfile has precedence", "main", &config.LockedGit{URL: url, Commit: two}, []module.RemoteRef{{Name: "refs/heads/main", Hash: one}}, two, ""},
		{"a lockfile without a valid commit", "main", &config.LockedGit{URL: url, Commit: "../../x"}, []module.RemoteRef{}, "", ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			remote := &remote{refs: test.refs, files: []module.RemoteFile{file("a.md", "a")}}
			got, err := module.NewCheckouts(module.CheckoutConfig{Cache: cache, Remote: remote}).Checkout("skill:x", config.Git{URL: url, Ref: test.ref}, test.locked)
			if test.want == "" {
				if err == nil {
					t.Errorf("got %s", got)
				}
				return
			}
			if err != nil || got != filepath.Join(cache, env.RemoteKey(url), test.want) {
				t.Fatalf("got %s, %v", got, err)
			}
			want := []string{"fetch " + test.want}
			if test.asked != "" {
				want = append([]string{test.asked}, want...)
			}
			if diff := cmp.Diff(want, remote.asked); diff != "" {
				t.Errorf("requests to the remote: %s", diff)
			}
		})
	}
}

func TestCheckoutFetchesOnceAndAtomically(t *testing.T) {
	cache := t.TempDir()
	remote := &remote{refs: []module.RemoteRef{{Name: "refs/heads/main", Hash: one}}, files: []module.RemoteFile{
		file("SKILL.md", "s"), file("d/e/f.txt", "f"), link("d/l", "../SKILL.md"),
	}}
	var locked []string
	checkouts := module.NewCheckouts(module.CheckoutConfig{Cache: cache, Remote: remote, Lock: func(name string) error { locked = append(locked, name); return nil }})
	left := filepath.Join(cache, env.RemoteKey(url), one+".tmp-left")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	var dir string
	for range 2 {
		var err error
		if dir, err = checkouts.Checkout("skill:x", config.Git{URL: url, Ref: "main"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"SKILL.md": "s", "d/e/f.txt": "f", "d/l": "s"} {
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != want {
			t.Errorf("the file %s has the content %q, %v", path, got, err)
		}
	}
	if len(remote.asked) != 2 || !cmp.Equal(locked, []string{"fetch"}) || len(checkouts.Warnings()) > 0 {
		t.Errorf("requests to the remote %q, locks %q, warnings %q", remote.asked, locked, checkouts.Warnings())
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("files beside the checkout: %v, %v", entries, err)
	}
}

func TestCheckoutWithoutRemoteUsesCache(t *testing.T) {
	cases := []struct {
		name   string
		cached []string // the directories that the cache contains
		ref    string
		locked bool
		want   string // the expected directory in the cache; "" if an error is expected
		says   string // a substring of the expected error or warning
	}{
		{"a commit in the cache", []string{env.RemoteKey(url) + "/" + one}, one, false, env.RemoteKey(url) + "/" + one, ""},
		{"a locked commit in the cache", []string{env.RemoteKey(url) + "/" + one}, "main", true, env.RemoteKey(url) + "/" + one, ""},
		{"a branch, and one commit in the cache", []string{env.RemoteKey(url) + "/" + one}, "main", false, env.RemoteKey(url) + "/" + one, "the only commit of this repository in the cache"},
		{"a branch, and two commits in the cache", []string{env.RemoteKey(url) + "/" + one, env.RemoteKey(url) + "/" + two}, "main", false, "", "has 2 commits of this repository, so the commit is ambiguous"},
		{"a branch, and nothing in the cache", nil, "main", false, "", "ask the admin to grant that repository to the plugin"},
		{"a commit, and nothing in the cache", nil, one, false, "", "cannot be fetched: not granted"},
		{"a commit below the module's key, as in older versions", []string{env.ModuleKey("skill:x") + "/" + one}, one, false, env.RemoteKey(url) + "/" + one, ""},
		{"a commit below the module's id, as in older versions", []string{"skill_x/" + one}, one, false, env.RemoteKey(url) + "/" + one, ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			for _, dir := range test.cached {
				if err := os.MkdirAll(filepath.Join(cache, dir), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			checkouts := module.NewCheckouts(module.CheckoutConfig{Cache: cache, Remote: &remote{}})
			var locked *config.LockedGit
			if test.locked {
				locked = &config.LockedGit{URL: url, Commit: one}
			}
			got, err := checkouts.Checkout("skill:x", config.Git{URL: url, Ref: test.ref}, locked)
			if test.want == "" {
				if err == nil || !strings.Contains(err.Error(), test.says) || !errors.Is(err, errDenied) {
					t.Errorf("got %s, %v", got, err)
				}
				return
			}
			if err != nil || got != filepath.Join(cache, test.want) {
				t.Errorf("got %s, %v", got, err)
			}
			if warned := strings.Join(checkouts.Warnings(), ""); !strings.Contains(warned, test.says) || (warned == "") != (test.says == "") {
				t.Errorf("the warnings are %q", warned)
			}
		})
	}
}

func TestCheckoutRefusesHostileRepository(t *testing.T) {
	cases := []struct {
		name  string
		files []module.RemoteFile
	}{
		{"a path outside", []module.RemoteFile{file("../x", "")}},
		{"an absolute path", []module.RemoteFile{file("/x", "")}},
		{"a path with dots in it", []module.RemoteFile{file("a/../x", "")}},
		{"a git directory", []module.RemoteFile{file("d/.GIT/config", "")}},
		{"an empty path", []module.RemoteFile{file("", "")}},
		{"a path with a backslash", []module.RemoteFile{file(`a\b`, "")}},
		{"an absolute symbolic link", []module.RemoteFile{link("l", "/etc")}},
		{"a symbolic link to the outside", []module.RemoteFile{link("d/l", "../../x")}},
		{"a symbolic link to the outside through another one", []module.RemoteFile{link("d/l", ".."), link("d/m", "l/../x")}},
		{"a file below a symbolic link", []module.RemoteFile{link("d", "e"), file("d/f", "")}},
		{"a file with the path of a symbolic link", []module.RemoteFile{file("f", "kept"), link("l", "f"), file("l", "over")}},
		{"an empty symbolic link", []module.RemoteFile{link("l", "")}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			remote := &remote{refs: []module.RemoteRef{}, files: test.files}
			if got, err := module.NewCheckouts(module.CheckoutConfig{Cache: cache, Remote: remote}).Checkout("skill:x", config.Git{URL: url, Ref: one}, nil); err == nil {
				t.Errorf("got %s", got)
			}
			if entries, err := os.ReadDir(filepath.Join(cache, env.RemoteKey(url))); err != nil || len(entries) > 0 {
				t.Errorf("the fetch left files behind: %v, %v", entries, err)
			}
			if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
				t.Errorf("files in the cache: %v, %v", entries, err)
			}
		})
	}
}

func TestCheckoutUsesConcurrentFetch(t *testing.T) {
	cache := t.TempDir()
	dir := filepath.Join(cache, env.RemoteKey(url), one)
	remote := &remote{}
	checkouts := module.NewCheckouts(module.CheckoutConfig{Cache: cache, Remote: remote, Lock: func(string) error { return os.MkdirAll(dir, 0o755) }})
	if got, err := checkouts.Checkout("skill:x", config.Git{URL: url, Ref: one}, nil); err != nil || got != dir || len(remote.asked) > 0 {
		t.Errorf("got %s, %v; asked %q", got, err, remote.asked)
	}
}
