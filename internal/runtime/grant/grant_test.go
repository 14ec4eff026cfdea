//go:build unix

package grant

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

func TestResolveOpensGrantedDirectories(t *testing.T) {
	w := newWorld(t)
	w.dir("disk/work/notes")
	w.dir("project/docs")
	w.link("disk/work", "work")
	w.link(w.path("work/notes"), "notes")
	w.grant(manifest.ReadWrite, "project", "work", "notes")
	w.grant(manifest.Read, "project/docs/", "project/./docs/../docs")
	w.grantState()
	s := w.resolve()
	want := []string{
		"rw state " + w.path(".local/state/bulkhead/notes"), "rw " + w.project, "rw " + w.path("disk/work"), "rw " + w.path("disk/work/notes"), "r " + w.path("project/docs"),
	}
	var got []string
	for _, m := range s.Mounts {
		text := "r "
		if m.Write {
			text = "rw "
		}
		if m.State {
			text += "state "
		}
		got = append(got, text+m.Path)
		if m.Absent || !w.same(m.Dir, m.Path) {
			t.Errorf("the handle of %s does not refer to that directory", m.Path)
		}
		if m.ID != m.Anchors[len(m.Anchors)-1] {
			t.Errorf("the last anchor of %s is not the directory itself", m.Path)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	link, err := identify(w.path("work"), false)
	w.must(err)
	if !slices.Contains(s.Mounts[3].Anchors, link) {
		t.Error("a link through which the path was resolved is not among the anchors")
	}
	w.unchanged(s)
}

// TestGrantedLinksAreAliases checks that, if a granted path contains symbolic links, the resolved directory has that path as an alias.
func TestGrantedLinksAreAliases(t *testing.T) {
	w := newWorld(t)
	w.dir("dotfiles/codex")
	w.link("dotfiles/codex", ".codex")
	w.link("dotfiles", "dots")
	w.grant(manifest.ReadWrite, "project", ".codex", ".codex/", "dots/codex", "dotfiles/codex", "dots/absent")
	w.Grant.Git = []config.Git{{Repo: w.path(".codex"), Access: manifest.Read}, {Repo: w.project, Access: manifest.Read}}
	s := w.resolve()
	want := [][]string{
		{w.project},
		{w.path("dotfiles/codex"), w.path(".codex"), w.path("dots/codex")},
		{w.path("dotfiles/absent"), w.path("dots/absent")},
	}
	for i, m := range s.Mounts {
		if got := append([]string{m.Path}, m.Aliases...); !slices.Equal(got, want[i]) {
			t.Errorf("got %q, want %q", got, want[i])
		}
	}
	if len(s.Mounts) != len(want) || s.Repos[0].Alias != w.path(".codex") || s.Repos[1].Alias != "" {
		t.Errorf("got %d mounts, %+v", len(s.Mounts), s.Repos)
	}
}

func TestResolveRefusesLinksThatPluginsOrProjectControl(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(w *world)
		grant   string
		want    string // a part of the expected error; HOME stands for the home directory
	}{
		"link in the project": {
			func(w *world) { w.dir(".ssh"); w.link("../.ssh", "project/.notes") },
			"project/.notes", `granted directory HOME/project/.notes: "HOME/project/.notes" is a symbolic link to "HOME/.ssh", below the project: if that is intended, add "HOME/.ssh" itself to the plugin's key fs in bulkhead.toml, or replace the link by a directory`,
		},
		"absolute link in the project": {
			func(w *world) { w.dir(".ssh"); w.link(w.path(".ssh"), "project/.notes") },
			"project/.notes", `"HOME/project/.notes" is a symbolic link to "HOME/.ssh", below the project: if that is intended, add "HOME/.ssh" itself`,
		},
		"link to the parent": {
			func(w *world) { w.link("..", "project/docs") },
			"project/docs", `a symbolic link to "HOME", below the project`,
		},
		"link to nothing": {
			func(w *world) { w.link("../gone", "project/docs") },
			"project/docs", `a symbolic link to "HOME/gone", below the project`,
		},
		"link that stays inside": {
			func(w *world) { w.dir("project/a"); w.link("a", "project/b") },
			"project/b", "below the project",
		},
		"link on the way": {
			func(w *world) { w.dir("x/y"); w.dir("project/a"); w.link("../../x", "project/a/b") },
			"project/a/b/y", `"HOME/project/a/b" is a symbolic link to "HOME/x", below the project`,
		},
		"link of the user's into the project, and one there": {
			func(w *world) { w.dir(".ssh"); w.link("project/a", "short"); w.link("../.ssh", "project/a") },
			"short", `"HOME/project/a" is a symbolic link to "HOME/.ssh", below the project`,
		},
		"link in what another plugin writes": {
			func(w *world) {
				w.dir("shared")
				w.dir(".ssh")
				w.link("../.ssh", "shared/x")
				w.Writable = []string{w.path("shared")}
			},
			"shared/x", "below a directory that a plugin may write",
		},
		"link in what the plugin itself writes": {
			func(w *world) {
				w.dir("shared")
				w.dir(".ssh")
				w.link("../.ssh", "shared/x")
				w.link("shared", "named")
				w.grant(manifest.ReadWrite, "named")
			},
			"shared/x", "below a directory that a plugin may write",
		},
		"link in what was moved since the project was found": {
			func(w *world) {
				w.dir(".ssh")
				w.dir("elsewhere")
				w.link("../.ssh", "elsewhere/.notes")
				w.must(os.Remove(w.project))
				w.link("elsewhere", "project")
			},
			"project/.notes", "below the project",
		},
		"link deep in what was moved since the project was found": {
			func(w *world) {
				w.dir(".ssh")
				w.dir("elsewhere/a")
				w.link("../../.ssh", "elsewhere/a/.notes")
				w.must(os.Remove(w.project))
				w.link("elsewhere", "project")
			},
			"project/a/.notes", "below the project",
		},
		"project that became a link since it was found": {
			func(w *world) {
				w.dir("elsewhere/docs")
				w.must(os.Remove(w.project))
				w.link("elsewhere", "project")
			},
			"project/docs", `it resolves to "HOME/elsewhere/docs", outside the project`,
		},
		"the whole home": {
			func(w *world) { w.link("project/..", "work") },
			"work", `granted directory HOME/work: it resolves to "HOME", the whole home directory: if that is intended, add "HOME" itself to the plugin's key fs`,
		},
		"what holds the home": {
			func(w *world) { w.link("..", "work") },
			"work", "holds the whole home directory",
		},
		"the root": {
			func(w *world) { w.link("/", "work") },
			"work", "the whole file system",
		},
		"the root, which is its own parent": {
			func(w *world) { w.link(strings.Repeat("../", 50), "work") },
			"work", "the whole file system",
		},
		"the root by way of a process": {
			func(w *world) { w.link("/proc/self/root", "work") },
			"work", "the whole file system",
		},
		"loop": {
			func(w *world) { w.link("b", "a"); w.link("a", "b") },
			"a", "more than 40 symbolic links",
		},
		"link of the user's to nothing": {
			func(w *world) { w.link("gone", "a"); w.link("a", "b") },
			"b", "is a dangling symbolic link",
		},
		"file": {
			func(w *world) { w.must(os.WriteFile(w.path("a"), nil, 0o600)) },
			"a", `granted directory HOME/a: "HOME/a": not a directory`,
		},
		"FIFO": {
			func(w *world) { w.must(unix.Mkfifo(w.path("a"), 0o600)) },
			"a/b", "not a directory",
		},
		"long name": {func(*world) {}, strings.Repeat("n", 256), "file name too long"},
		"long path": {func(*world) {}, strings.Repeat("n/", 2100), "longer than 4096 bytes"},
		"long path with its links": {
			func(w *world) {
				text := strings.TrimSuffix(strings.Repeat("./", 1900)+".", "/.")
				w.link(text, "a")
				deep := w.home
				for range 17 {
					deep = filepath.Join(deep, strings.Repeat("d", 220))
				}
				w.must(os.MkdirAll(deep, 0o755))
				w.must(os.Mkdir(filepath.Join(deep, "e"), 0o755))
				w.link(deep, "deep")
				w.must(os.Chdir(deep))
				w.must(os.MkdirAll("e/"+strings.Repeat("f", 200), 0o755))
				w.must(os.MkdirAll("e/"+strings.Repeat("f", 200)+"/"+strings.Repeat("g", 200), 0o755))
			},
			"deep/e/" + strings.Repeat("f", 200) + "/" + strings.Repeat("g", 200), "is longer than 4096 bytes after its symbolic links are resolved",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			w := newWorld(t)
			c.prepare(w)
			w.grant(manifest.Read, c.grant)
			before := descriptors()
			s, err := Resolve(w.Config)
			want := strings.ReplaceAll(c.want, "HOME", w.home)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, %v; want %q", s, err, want)
			}
			if after := descriptors(); after != before {
				t.Errorf("%d descriptors are open, %d before", after, before)
			}
			_, err = NewLooker(w.Places, append(w.Writable, Writable(w.Places, w.Grant)...)).Look(Directory, w.path(c.grant), nil)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Look: %v; want %q", err, want)
			}
			if after := descriptors(); after != before {
				t.Errorf("%d descriptors are open after Look, %d before", after, before)
			}
		})
	}
}

func TestResolveFollowsLinksAboveTheProject(t *testing.T) {
	w := newWorld(t)
	w.dir("disk/a/b")
	w.link("disk", "l0")
	for i := range 38 {
		w.link(fmt.Sprintf("./l%d", i), fmt.Sprintf("l%d", i+1))
	}
	w.link("l38/a/../a//", "two")
	w.grant(manifest.Read, "two/b")
	if s := w.resolve(); s.Mounts[0].Path != w.path("disk/a/b") {
		t.Errorf("got %s", s.Mounts[0].Path)
	}
}

func TestBroadDirectoryIsGrantedByItsName(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.Read, "/", w.home, filepath.Dir(w.home))
	s := w.resolve()
	for i, want := range []string{"/", w.home, filepath.Dir(w.home)} {
		if m := s.Mounts[i]; m.Path != want || !w.same(m.Dir, want) {
			t.Errorf("got %+v, want %s", m, want)
		}
	}
	w.unchanged(s)
}

func TestBreadthOf(t *testing.T) {
	places := config.Places{Home: "/home/u", Project: "/home/u/code/p"}
	for path, want := range map[string]Breadth{
		"/": Root, "/home": HoldsHome, "/home/u": Home, "/home/u/code": HoldsProject, "/home/u/code/p": InProject,
		"/home/u/code/p/docs": InProject, "/home/u/code/p2": Outside, "/home/u2": Outside, "/mnt": Outside,
	} {
		if got := breadthOf(path, places); got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if got := breadthOf("/x", config.Places{}); got != Outside {
		t.Errorf("without places, the writable directories are %q", got)
	}
}

func TestWritable(t *testing.T) {
	w := newWorld(t)
	w.dir("disk/notes")
	w.dir("shared")
	w.link("disk", "work")
	w.link("/", "shared/x")        // a link that a plugin may have created
	w.link("../..", "project/all") // a link that the project's repository may contain
	w.grant(manifest.ReadWrite, "shared/x", "project/all", "work/notes", "shared", "absent")
	w.grant(manifest.Read, "disk")
	want := []string{w.path("shared"), w.path("absent"), w.path("disk/notes")}
	if got := Writable(w.Places, w.Grant); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWiderAccessHasPrecedence(t *testing.T) {
	w := newWorld(t)
	w.dir("notes")
	w.link("notes", "other")
	w.grant(manifest.Read, "notes")
	w.grant(manifest.ReadWrite, "other")
	s := w.resolve()
	if len(s.Mounts) != 1 || !s.Mounts[0].Write || s.Mounts[0].Granted != w.path("notes") {
		t.Errorf("got %+v", s.Mounts)
	}
	w.must(os.Remove(w.path("other")))
	w.link("project", "other")
	w.changed(s, w.path("other")+" was replaced")
}

func TestRepositoryAboveGrantIsNamed(t *testing.T) {
	w := newWorld(t)
	w.dir("all/repo/.git")
	w.dir("all/.git")
	for _, git := range []string{"all/repo", "all/repo/sub", "beside"} {
		w.dir(git)
		w.Grant.Git = append(w.Grant.Git, config.Git{Repo: w.path(git), Access: manifest.Read})
	}
	above := func() (found []string) {
		for _, repo := range w.resolve().Repos {
			found = append(found, repo.Above)
		}
		return found
	}
	if got := above(); !slices.Equal(got, []string{"", "", ""}) {
		t.Errorf("a .git that is no repository: got %q", got)
	}
	for _, dir := range []string{"all", "all/repo"} {
		w.must(os.WriteFile(w.path(dir+"/.git/HEAD"), []byte("ref: refs/heads/main\n"), 0o600))
	}
	if got := above(); !slices.Equal(got, []string{w.path("all"), w.path("all/repo"), ""}) {
		t.Errorf("got %q", got)
	}
	w.must(os.RemoveAll(w.path("all/repo/.git")))
	w.must(os.WriteFile(w.path("all/repo/.git"), []byte("gitdir: ../worktree"), 0o600))
	if got := above(); got[1] != w.path("all/repo") {
		t.Errorf("a .git that is a file: got %q", got)
	}
}

func TestAccessToRepositories(t *testing.T) {
	for access, want := range map[manifest.Access]Repo{
		manifest.Read: {}, manifest.ReadWrite: {Write: true}, manifest.Commit: {Write: true, Commit: true},
	} {
		w := newWorld(t)
		w.dir("repo")
		w.Grant.Git = []config.Git{{Repo: w.path("repo"), Access: access}}
		if r := w.resolve().Repos[0]; r.Write != want.Write || r.Commit != want.Commit {
			t.Errorf("access %q: got %+v", access, r)
		}
	}
}

func TestRepositories(t *testing.T) {
	w := newWorld(t)
	w.dir("notes/sub")
	w.dir("elsewhere")
	w.link("../elsewhere", "notes/out")
	w.grant(manifest.Read, "notes")
	w.Grant.Git = []config.Git{
		{Repo: w.path("notes/sub"), Access: manifest.ReadWrite, Remotes: []string{"https://git.example.com/a"}},
		{Repo: w.path("gone"), Access: manifest.Read},
	}
	s := w.resolve()
	if r := s.Repos[0]; r.Path != w.path("notes/sub") || !r.Write || !w.same(r.Dir, r.Path) || len(r.Remotes) != 1 {
		t.Errorf("got %+v", r)
	}
	if r := s.Repos[1]; r.Path != w.path("gone") || r.Dir != nil {
		t.Errorf("got %+v", r)
	}
	w.unchanged(s)
	w.dir("gone")
	w.changed(s, "gone exists now")

	w.Grant.Git = []config.Git{{Repo: w.path("notes/out"), Access: manifest.Read}}
	_, err := Resolve(w.Config)
	if refused := (*refusedError)(nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "outside of the granted directory") {
		t.Errorf("got %v", err)
	}
}

func TestDirectoriesAreBounded(t *testing.T) {
	w := newWorld(t)
	for i := range 128 {
		w.grant(manifest.ReadWrite, fmt.Sprintf("absent/%d", i))
	}
	before := descriptors()
	s := w.resolve()
	if got := descriptors() - before; before >= 0 && got > 3*128+2 {
		t.Errorf("%d descriptors are held", got)
	}
	w.must(s.Close())
	if after := descriptors(); after != before {
		t.Errorf("%d descriptors are open after Close, %d before", after, before)
	}
	w.grant(manifest.Read, "one more")
	if _, err := Resolve(w.Config); err == nil || !strings.Contains(err.Error(), "at most 128") {
		t.Errorf("got %v", err)
	}
}

func TestOwnFilesAreResolved(t *testing.T) {
	w := newWorld(t)
	w.dir("disk/cache")
	w.link("disk", "d")
	w.Own = []string{w.path("d/cache"), w.path("d/gone/x"), w.path("loop")}
	w.link("loop", "loop")
	want := []string{w.path("disk/cache"), w.path("disk/gone/x"), w.path("loop")}
	if s := w.resolve(); !slices.Equal(s.Own, want) {
		t.Errorf("got %q, want %q", s.Own, want)
	}
}

// TestResolveRefusesPathOutsideCeiling grants paths that are lexically in the directories of a ceiling, and resolve to others.
func TestResolveRefusesPathOutsideCeiling(t *testing.T) {
	for name, c := range map[string]struct {
		make   func(w *world)
		grant  string
		within []string
		want   string
	}{
		"the directory itself":              {nil, "ok", []string{"ok"}, ""},
		"a directory in it":                 {nil, "ok/sub", []string{"ok"}, ""},
		"an absent one in it":               {nil, "ok/new/deep", []string{"ok"}, ""},
		"a link that stays":                 {func(w *world) { w.link("sub", "ok/link") }, "ok/link", []string{"ok"}, ""},
		"a link to a second one":            {func(w *world) { w.link("../second", "ok/link") }, "ok/link", []string{"ok", "second"}, ""},
		"a link to outside":                 {func(w *world) { w.link("../secret", "ok/link") }, "ok/link", []string{"ok"}, "/secret\", outside of "},
		"an absent one behind a link":       {func(w *world) { w.link("../secret", "ok/link") }, "ok/link/new", []string{"ok"}, "/secret/new\", outside of "},
		"a sibling with the name as prefix": {func(w *world) { w.dir("okay"); w.link("../okay", "ok/link") }, "ok/link", []string{"ok"}, "/okay\", outside of "},
		"nothing":                           {nil, "ok", []string{}, "outside of "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.dir("ok/sub")
			w.dir("second")
			w.dir("secret")
			if c.make != nil {
				c.make(w)
			}
			within := []string{}
			for _, dir := range c.within {
				within = append(within, w.path(dir))
			}
			for kind, granted := range map[string]config.Grant{
				Directory:  {FS: []config.Mount{{Path: w.path(c.grant), Access: manifest.ReadWrite, Within: within}}},
				Repository: {Git: []config.Git{{Repo: w.path(c.grant), Access: manifest.Read, Within: within}}},
			} {
				w.Grant = granted
				s, err := Resolve(w.Config)
				if err == nil {
					defer s.Close()
				}
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: got %v, want %q", kind, err, c.want)
				}
				if _, err := NewLooker(w.Places, nil).Look(kind, w.path(c.grant), within); (err == nil) != (c.want == "") {
					t.Errorf("Look %s: got %v, want %q", kind, err, c.want)
				}
			}
		})
	}
}

// TestCeilingHoldsAfterLinkIsRedirected redirects a link of the user after the grant was resolved. Changed must report the link, and
// the next Resolve must refuse it.
func TestCeilingHoldsAfterLinkIsRedirected(t *testing.T) {
	w := newWorld(t)
	w.dir("ok/sub")
	w.dir("secret")
	w.link("sub", "ok/link")
	w.Grant.FS = []config.Mount{{Path: w.path("ok/link"), Access: manifest.Read, Within: []string{w.path("ok")}}}
	s := w.resolve()
	w.must(os.Remove(w.path("ok/link")))
	w.link("../secret", "ok/link")
	w.changed(s, "ok/link")
	if _, err := Resolve(w.Config); err == nil || !strings.Contains(err.Error(), "outside of ") {
		t.Errorf("got %v", err)
	}
}

// TestLinkToDirectoryAboveTheProjectIsFollowed has links of the user to directories that contain the project, but not the whole home.
func TestLinkToDirectoryAboveTheProjectIsFollowed(t *testing.T) {
	w := newWorld(t)
	w.dir("code/project")
	w.Places.Project = w.path("code/project")
	w.link("code", "work")
	w.link(".", "here")
	w.grant(manifest.Read, "work", "here/absent")
	s := w.resolve()
	if m := s.Mounts; m[0].Path != w.path("code") || m[0].Absent || m[1].Path != w.path("absent") || !m[1].Absent {
		t.Errorf("got %+v", m)
	}
}

func TestWithoutProjectNoDirectoryIsGuarded(t *testing.T) {
	w := newWorld(t)
	w.dir("disk")
	w.link("disk", "work")
	w.Places.Project = ""
	t.Chdir(w.home)
	w.grant(manifest.Read, "work")
	w.resolve()
}

func TestRefusedRepositoryNamesItsKey(t *testing.T) {
	w := newWorld(t)
	w.link("..", "project/repo")
	w.Grant.Git = []config.Git{{Repo: w.path("project/repo"), Access: manifest.Read}}
	if _, err := Resolve(w.Config); err == nil || !strings.Contains(err.Error(), "granted repository ") || !strings.Contains(err.Error(), "to the plugin's key git in") {
		t.Errorf("got %v", err)
	}
}

func TestCloseReturnsErrorsOnce(t *testing.T) {
	w := newWorld(t)
	w.grant(manifest.Read, "project")
	s := w.resolve()
	w.must(s.Mounts[0].Dir.Close())
	if err := s.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a handle that is closed already: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("the set is closed already: %v", err)
	}
}
