package gitmodule_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/gitmodule"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/lockfile"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/name"
)

const url = "https://git.example/acme/modules.git"

var (
	one = strings.Repeat("1", 40)
	two = strings.Repeat("2", 40)
)

// remote is a repository. Without refs it is one that is not granted.
type remote struct {
	refs  []gitmodule.Ref
	files []gitmodule.File
	asked []string
}

var errDenied = errors.New("not granted")

func (r *remote) ListRemote(url string, names ...string) ([]gitmodule.Ref, error) {
	r.asked = append(r.asked, "list "+strings.Join(names, " "))
	if r.refs == nil {
		return nil, errDenied
	}
	var found []gitmodule.Ref
	for _, ref := range r.refs {
		for _, name := range names {
			if ref.Name == name {
				found = append(found, ref)
			}
		}
	}
	return found, nil
}

func (r *remote) Fetch(url, commit string, take func(gitmodule.File) error) error {
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

func file(path, content string) gitmodule.File {
	return gitmodule.File{Path: path, Content: []byte(content)}
}

func link(path, target string) gitmodule.File {
	return gitmodule.File{Path: path, Link: true, Content: []byte(target)}
}

func TestWhichCommitAReferenceIs(t *testing.T) {
	cases := []struct {
		name   string
		ref    string
		locked *lockfile.Git
		refs   []gitmodule.Ref
		want   string // the commit; "" for an error
		asked  string
	}{
		{"a commit is not asked for", strings.ToUpper(strings.Repeat("a", 40)), nil, []gitmodule.Ref{}, strings.Repeat("a", 40), ""},
		{"a branch", "main", nil, []gitmodule.Ref{{Name: "refs/heads/main", Hash: one}}, one, "list refs/heads/main refs/tags/main"},
		{"a plain tag", "v1", nil, []gitmodule.Ref{{Name: "refs/tags/v1", Hash: two}}, two, "list refs/heads/v1 refs/tags/v1"},
		{"an annotated tag comes before a branch of its name", "v1", nil, []gitmodule.Ref{{Name: "refs/heads/v1", Hash: one}, {Name: "refs/tags/v1", Hash: one, Peeled: two}}, two, "list refs/heads/v1 refs/tags/v1"},
		{"a branch comes before a plain tag of its name", "v1", nil, []gitmodule.Ref{{Name: "refs/heads/v1", Hash: one}, {Name: "refs/tags/v1", Hash: two}}, one, "list refs/heads/v1 refs/tags/v1"},
		{"none", "main", nil, []gitmodule.Ref{}, "", ""},
		{"one that is no commit", "main", nil, []gitmodule.Ref{{Name: "refs/heads/main", Hash: "../../x"}}, "", ""},
		{"the lockfile wins", "main", &lockfile.Git{URL: url, Commit: two}, []gitmodule.Ref{{Name: "refs/heads/main", Hash: one}}, two, ""},
		{"a lockfile whose commit is none", "main", &lockfile.Git{URL: url, Commit: "../../x"}, []gitmodule.Ref{}, "", ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			remote := &remote{refs: test.refs, files: []gitmodule.File{file("a.md", "a")}}
			got, err := gitmodule.New(gitmodule.Config{Cache: cache, Remote: remote}).Checkout("skill:x", manifest.Git{URL: url, Ref: test.ref}, test.locked)
			if test.want == "" {
				if err == nil {
					t.Errorf("got %s", got)
				}
				return
			}
			if err != nil || got != filepath.Join(cache, name.Remote(url), test.want) {
				t.Fatalf("got %s, %v", got, err)
			}
			want := []string{"fetch " + test.want}
			if test.asked != "" {
				want = append([]string{test.asked}, want...)
			}
			if diff := cmp.Diff(want, remote.asked); diff != "" {
				t.Errorf("asked: %s", diff)
			}
		})
	}
}

func TestACheckoutIsFetchedOnceAndWhole(t *testing.T) {
	cache := t.TempDir()
	remote := &remote{refs: []gitmodule.Ref{{Name: "refs/heads/main", Hash: one}}, files: []gitmodule.File{
		file("SKILL.md", "s"), file("d/e/f.txt", "f"), link("d/l", "../SKILL.md"),
	}}
	var locked []string
	checkouts := gitmodule.New(gitmodule.Config{Cache: cache, Remote: remote, Lock: func(name string) error { locked = append(locked, name); return nil }})
	left := filepath.Join(cache, name.Remote(url), one+".tmp-left")
	if err := os.MkdirAll(left, 0o755); err != nil {
		t.Fatal(err)
	}
	var folder string
	for range 2 {
		var err error
		if folder, err = checkouts.Checkout("skill:x", manifest.Git{URL: url, Ref: "main"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"SKILL.md": "s", "d/e/f.txt": "f", "d/l": "s"} {
		if got, err := os.ReadFile(filepath.Join(folder, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if len(remote.asked) != 2 || !cmp.Equal(locked, []string{"fetch"}) || len(checkouts.Warnings()) > 0 {
		t.Errorf("asked %q, locked %q, warned %q", remote.asked, locked, checkouts.Warnings())
	}
	if entries, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
}

func TestWithoutAGrant(t *testing.T) {
	cases := []struct {
		name   string
		cached []string // folders in the cache
		ref    string
		locked bool
		want   string // the folder in the cache; "" for an error
		says   string // in the error or the warning
	}{
		{"a commit in the cache", []string{name.Remote(url) + "/" + one}, one, false, name.Remote(url) + "/" + one, ""},
		{"a locked commit in the cache", []string{name.Remote(url) + "/" + one}, "main", true, name.Remote(url) + "/" + one, ""},
		{"a branch, and one commit in the cache", []string{name.Remote(url) + "/" + one}, "main", false, name.Remote(url) + "/" + one, "the one commit of it in the cache"},
		{"a branch, and two commits in the cache", []string{name.Remote(url) + "/" + one, name.Remote(url) + "/" + two}, "main", false, "", "has 2 commits of it, so none is certain"},
		{"a branch, and nothing in the cache", nil, "main", false, "", "have the admin grant the plugin that repository"},
		{"a commit, and nothing in the cache", nil, one, false, "", "cannot be fetched: not granted"},
		{"a commit under the module's key, as older versions had it", []string{name.Key("skill:x") + "/" + one}, one, false, name.Remote(url) + "/" + one, ""},
		{"a commit under the module's id, as older versions had it", []string{"skill_x/" + one}, one, false, name.Remote(url) + "/" + one, ""},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			for _, folder := range test.cached {
				if err := os.MkdirAll(filepath.Join(cache, folder), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			checkouts := gitmodule.New(gitmodule.Config{Cache: cache, Remote: &remote{}})
			var locked *lockfile.Git
			if test.locked {
				locked = &lockfile.Git{URL: url, Commit: one}
			}
			got, err := checkouts.Checkout("skill:x", manifest.Git{URL: url, Ref: test.ref}, locked)
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
				t.Errorf("warned %q", warned)
			}
		})
	}
}

func TestAHostileRepository(t *testing.T) {
	cases := []struct {
		name  string
		files []gitmodule.File
	}{
		{"a path that leads out", []gitmodule.File{file("../x", "")}},
		{"an absolute path", []gitmodule.File{file("/x", "")}},
		{"a path with dots in it", []gitmodule.File{file("a/../x", "")}},
		{"a git folder", []gitmodule.File{file("d/.GIT/config", "")}},
		{"an empty path", []gitmodule.File{file("", "")}},
		{"a path with a backslash", []gitmodule.File{file(`a\b`, "")}},
		{"an absolute link", []gitmodule.File{link("l", "/etc")}},
		{"a link that leads out", []gitmodule.File{link("d/l", "../../x")}},
		{"a link that leads out through another", []gitmodule.File{link("d/l", ".."), link("d/m", "l/../x")}},
		{"a file behind a link", []gitmodule.File{link("d", "e"), file("d/f", "")}},
		{"a file in the place of a link", []gitmodule.File{file("f", "kept"), link("l", "f"), file("l", "over")}},
		{"an empty link", []gitmodule.File{link("l", "")}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			cache := t.TempDir()
			remote := &remote{refs: []gitmodule.Ref{}, files: test.files}
			if got, err := gitmodule.New(gitmodule.Config{Cache: cache, Remote: remote}).Checkout("skill:x", manifest.Git{URL: url, Ref: one}, nil); err == nil {
				t.Errorf("got %s", got)
			}
			if entries, err := os.ReadDir(filepath.Join(cache, name.Remote(url))); err != nil || len(entries) > 0 {
				t.Errorf("left behind: %v, %v", entries, err)
			}
			if entries, err := os.ReadDir(cache); err != nil || len(entries) != 1 {
				t.Errorf("in the cache: %v, %v", entries, err)
			}
		})
	}
}

func TestTheOneFetchedByAnotherCallIsUsed(t *testing.T) {
	cache := t.TempDir()
	folder := filepath.Join(cache, name.Remote(url), one)
	remote := &remote{}
	checkouts := gitmodule.New(gitmodule.Config{Cache: cache, Remote: remote, Lock: func(string) error { return os.MkdirAll(folder, 0o755) }})
	if got, err := checkouts.Checkout("skill:x", manifest.Git{URL: url, Ref: one}, nil); err != nil || got != folder || len(remote.asked) > 0 {
		t.Errorf("got %s, %v; asked %q", got, err, remote.asked)
	}
}
