package repo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// In each case, all/grant/repo refers to all/victim, which is a valid repository outside of the grant.
func TestPointersOutOfGrantAreDenied(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(t *testing.T, r, victim *gittest.Repo)
		names   string // the path that the error message must contain
	}{
		{".git is a file that points out, absolutely", func(t *testing.T, r, victim *gittest.Repo) {
			replace(t, r.Dot, func() { gittest.Write(t, r.Dot, "gitdir: "+victim.Dot+"\n") })
		}, "/.git points to"},
		{".git is a file that points out, relatively", func(t *testing.T, r, _ *gittest.Repo) {
			replace(t, r.Dot, func() { gittest.Write(t, r.Dot, "gitdir: ../../victim/.git\n") })
		}, "/.git points to"},
		{".git is a file that points at a directory that begins like the grant", func(t *testing.T, r, _ *gittest.Repo) {
			replace(t, r.Dot, func() { gittest.Write(t, r.Dot, "gitdir: "+filepath.Dir(r.Dir)+"-2/.git\n") })
		}, "/.git points to"},
		{".git is a link out, absolute", func(t *testing.T, r, victim *gittest.Repo) {
			replace(t, r.Dot, func() { gittest.Symlink(t, victim.Dot, r.Dot) })
		}, "/.git is a symbolic link to"},
		{".git is a link out, relative", func(t *testing.T, r, _ *gittest.Repo) {
			replace(t, r.Dot, func() { gittest.Symlink(t, "../../victim/.git", r.Dot) })
		}, "/.git is a symbolic link to"},
		{".git is a link to a link out", func(t *testing.T, r, _ *gittest.Repo) {
			replace(t, r.Dot, func() { gittest.Symlink(t, "hop/.git", r.Dot); gittest.Symlink(t, "../../victim", r.Dir+"/hop") })
		}, "/hop is a symbolic link to"},
		{"the repository's directory is a link out", func(t *testing.T, r, _ *gittest.Repo) {
			replace(t, r.Dir, func() { gittest.Symlink(t, "../victim", r.Dir) })
		}, "/repo is a symbolic link to"},
		{"commondir points out, absolutely", func(t *testing.T, r, victim *gittest.Repo) {
			gittest.Write(t, r.Dot+"/commondir", victim.Dot+"\n")
		}, "/commondir points to"},
		{"commondir points out, relatively", func(t *testing.T, r, _ *gittest.Repo) {
			gittest.Write(t, r.Dot+"/commondir", "../../../victim/.git\n")
		}, "/commondir points to"},
		{"commondir is a link out", func(t *testing.T, r, _ *gittest.Repo) {
			gittest.Symlink(t, "/etc/hostname", r.Dot+"/commondir")
		}, "/commondir is a symbolic link to"},
		{"alternates point out, absolutely", func(t *testing.T, r, victim *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/info/alternates", victim.Dot+"/objects\n")
		}, "/alternates points to"},
		{"alternates point out, relatively", func(t *testing.T, r, _ *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/info/alternates", "../../../../victim/.git/objects\n")
		}, "/alternates points to"},
		{"alternates point out in quotes", func(t *testing.T, r, _ *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/info/alternates", `"../../../../victi\155/.git/objects"`)
		}, "/alternates points to"},
		{"alternates of alternates point out", func(t *testing.T, r, victim *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/info/alternates", "../../store\n")
			gittest.Write(t, r.Dir+"/store/info/alternates", victim.Dot+"/objects\n")
		}, "/store/info/alternates points to"},
		{"alternates lead to a link out", func(t *testing.T, r, victim *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/info/alternates", "../../store\n")
			gittest.Symlink(t, victim.Dot+"/objects", r.Dir+"/store")
		}, "/store is a symbolic link to"},
		{"the objects are a link out", func(t *testing.T, r, victim *gittest.Repo) {
			replace(t, r.Dot+"/objects", func() { gittest.Symlink(t, victim.Dot+"/objects", r.Dot+"/objects") })
		}, "/objects is a symbolic link to"},
		{"the references are a link out", func(t *testing.T, r, victim *gittest.Repo) {
			replace(t, r.Dot+"/refs", func() { gittest.Symlink(t, victim.Dot+"/refs", r.Dot+"/refs") })
		}, "/refs is a symbolic link to"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			all := t.TempDir()
			victim := gittest.Sample(t, filepath.Join(all, "victim"))
			gittest.Sample(t, filepath.Join(all, "grant-2"))
			r := gittest.Sample(t, filepath.Join(all, "grant", "repo"))
			c.arrange(t, r, victim)
			found, err := gittest.FindSample(t, filepath.Join(all, "grant"), r.Dir)
			if found || gittest.Code(err) != abi.HostDenied {
				t.Fatalf("got %v, %v; want it denied", found, err)
			}
			if !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), "--project") {
				t.Errorf("the message does not name the pointer and the remedy: %v", err)
			}
		})
	}
}

// If a part of a repository is a symbolic link to a path outside of the grant, the operations that read this part are denied.
func TestSymbolicLinksOutOfGrantAreDenied(t *testing.T) {
	branch := func(t *testing.T, r *gittest.Repo) error {
		_, err := gittest.Granted(r.Dir).BranchExists(t.Context(), abi.GitBranch{Repo: r.Dir, Branch: "main"})
		return err
	}
	commit := func(t *testing.T, r *gittest.Repo) error {
		_, err := gittest.Granted(r.Dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.Dir, Text: "second"})
		return err
	}
	cases := []struct {
		rule, part string
		ask        func(*testing.T, *gittest.Repo) error
	}{
		{"a branch's file", "refs/heads/main", branch},
		{"a directory of branches", "refs/heads", branch},
		{"HEAD", "HEAD", commit},
		{"the list of a shallow clone", "shallow", commit},
		{"the directory of packs", "objects/pack", commit},
	}
	for _, c := range cases {
		for _, absolute := range []bool{true, false} {
			t.Run(c.rule+map[bool]string{true: ", absolutely", false: ", relatively"}[absolute], func(t *testing.T) {
				all := t.TempDir()
				victim := gittest.Sample(t, filepath.Join(all, "victim"))
				gittest.Write(t, victim.Dot+"/shallow", "")
				r := gittest.Sample(t, filepath.Join(all, "repo"))
				part := filepath.Join(r.Dot, c.part)
				target := filepath.Join(victim.Dot, c.part)
				if !absolute {
					var err error
					target, err = filepath.Rel(filepath.Dir(part), target)
					gittest.Must(t, err)
				}
				replace(t, part, func() { gittest.Symlink(t, target, part) })
				err := c.ask(t, r)
				if gittest.Code(err) != abi.HostDenied || !strings.Contains(err.Error(), c.part+" is a symbolic link to") {
					t.Errorf("got %v; want it denied", err)
				}
			})
		}
	}
	t.Run("a loose object", func(t *testing.T) {
		r := gittest.Sample(t, t.TempDir())
		head, err := r.Store.Reference("refs/heads/main")
		gittest.Must(t, err)
		h := head.Hash().String()
		object := filepath.Join(r.Dot, "objects", h[:2], h[2:])
		replace(t, object, func() { gittest.Symlink(t, "/etc/hostname", object) })
		if err := commit(t, r); gittest.Code(err) != abi.HostDenied {
			t.Errorf("got %v; want it denied", err)
		}
	})
}

func TestPointersInsideGrantAreFollowed(t *testing.T) {
	cases := map[string]func(t *testing.T, r *gittest.Repo){
		".git is a file, absolute": func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dot, r.Dir+"/../git"))
			gittest.Write(t, r.Dot, "gitdir: "+filepath.Join(r.Dir, "..", "git")+"\n")
		},
		".git is a file, relative": func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dot, r.Dir+"/../git"))
			gittest.Write(t, r.Dot, "gitdir: ../git\n")
		},
		".git is a link": func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dot, r.Dir+"/../git"))
			gittest.Symlink(t, "../git", r.Dot)
		},
		"the objects are a link": func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dot+"/objects", r.Dir+"/store"))
			gittest.Symlink(t, "../store", r.Dot+"/objects")
		},
		"a branch is a link": func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dot+"/refs/heads/main", r.Dot+"/refs/heads/real"))
			gittest.Symlink(t, "real", r.Dot+"/refs/heads/main")
		},
		"a linked worktree": func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dir, filepath.Dir(r.Dir)+"/main"))
			own := filepath.Dir(r.Dir) + "/main/.git/worktrees/w"
			gittest.Write(t, own+"/HEAD", "ref: refs/heads/main\n")
			gittest.Write(t, own+"/commondir", "../..\n")
			gittest.Write(t, r.Dot, "gitdir: "+own+"\n")
		},
		"a .git directory that is no repository is passed by": func(t *testing.T, r *gittest.Repo) {
			gittest.Must(t, os.Rename(r.Dot, r.Dir+"/../.git"))
			gittest.Mkdir(t, r.Dot)
		},
		"alternates that do not exist are passed by": func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/info/alternates", "../../nope\n\n#x\n")
		},
		"alternates in a circle end": func(t *testing.T, r *gittest.Repo) {
			gittest.Write(t, r.Dot+"/objects/info/alternates", "../../store\n")
			gittest.Write(t, r.Dir+"/store/info/alternates", "../.git/objects\n../store\n")
		},
	}
	for rule, arrange := range cases {
		t.Run(rule, func(t *testing.T) {
			r := gittest.Sample(t, filepath.Join(t.TempDir(), "repo"))
			arrange(t, r)
			found, err := gittest.FindSample(t, filepath.Dir(r.Dir), r.Dir)
			if err != nil || !found {
				t.Errorf("got %v, %v", found, err)
			}
		})
	}
}

func replace(t *testing.T, name string, by func()) {
	t.Helper()
	gittest.Must(t, os.RemoveAll(name))
	by()
}

// An operation in a linked worktree is denied unless the worktree's repository is granted too.
func TestLinkedWorktreeOfOtherGrant(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	gittest.Must(t, err)
	r := gittest.Sample(t, filepath.Join(dir, "main"))
	gittest.Git(t, r.Dir, "remote", "add", "origin", "https://example.com/x.git")
	gittest.Git(t, r.Dir, "worktree", "add", "-q", "../linked", "feature/x")
	linked := filepath.Join(dir, "linked")
	pointer, err := os.ReadFile(filepath.Join(linked, ".git"))
	gittest.Must(t, err)
	for name, text := range map[string]string{"absolute": string(pointer), "relative": "gitdir: ../main/.git/worktrees/linked\n"} {
		gittest.Write(t, filepath.Join(linked, ".git"), text)
		both := gittest.Granted(linked, r.Dir)
		top, err := both.TopLevel(t.Context(), abi.GitPath{Path: filepath.Join(linked, "sub")})
		if err != nil || top.TopLevel != linked {
			t.Errorf("%s: got %q, %v", name, top.TopLevel, err)
		}
		if url, err := both.RemoteURL(t.Context(), abi.GitRemote{Repo: linked}); err != nil || url.URL != "https://example.com/x.git" {
			t.Errorf("%s: got %q, %v", name, url.URL, err)
		}
		gittest.Write(t, filepath.Join(linked, "new.txt"), "")
		status, err := both.Status(t.Context(), abi.GitStatusQuery{Repo: linked})
		if err != nil || len(status.Paths) != 1 || status.Paths[0].Path != "new.txt" {
			t.Errorf("%s: got %+v, %v", name, status, err)
		}
		_, err = gittest.Granted(linked).RemoteURL(t.Context(), abi.GitRemote{Repo: linked})
		if want := fmt.Sprintf("{ repo = %q, access", r.Dir); gittest.Code(err) != abi.HostDenied || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want it to name %s", name, err, want)
		}
	}
	t.Run("a branch needs write access to the repository", func(t *testing.T) {
		for write, want := range map[bool]string{false: abi.HostDenied, true: ""} {
			ops := gittest.NewOps(git.Config{
				Grants: []git.Grant{{Repo: linked, Write: true}, {Repo: r.Dir, Write: write}},
				User:   gittest.User(git.User{Identity: gittest.Someone}),
			})
			commit := gittest.NewCommit(r, gittest.Text("a.txt", "a"))
			commit.Repo = linked
			_, err := ops.CommitBranch(t.Context(), commit)
			if gittest.Code(err) != want || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("{ repo = %q, access = \"rw\" }", r.Dir)) {
				t.Errorf("write %v: got %v", write, err)
			}
		}
	})
	t.Run("a commit needs access to the repository, too", func(t *testing.T) {
		ops := gittest.NewOps(git.Config{
			Grants: []git.Grant{{Repo: linked, Commit: true}, {Repo: r.Dir, Write: true}},
			User:   gittest.User(git.User{Identity: gittest.Someone}),
		})
		_, err := ops.Reset(t.Context(), abi.GitRepo{Repo: linked})
		if remedy := fmt.Sprintf("{ repo = %q, access = \"commit\" }", r.Dir); gittest.Code(err) != abi.HostDenied || !strings.Contains(err.Error(), remedy) {
			t.Errorf("got %v, want the remedy %s", err, remedy)
		}
	})
}

// A clone that shares the objects of a repository can be read if that repository is granted too.
func TestAlternatesInOtherGrant(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	gittest.Must(t, err)
	r := gittest.Sample(t, filepath.Join(dir, "main"))
	gittest.Git(t, dir, "clone", "-q", "-s", r.Dir, "shared")
	gittest.Git(t, dir, "clone", "-q", "-s", "shared", "nested")
	gittest.Git(t, filepath.Join(dir, "shared"), "worktree", "add", "-q", "--detach", "../linked")
	arrange := map[string]func(){
		"loose objects":  func() {},
		"packed objects": func() { r.Pack(false) },
		"a relative path": func() {
			gittest.Write(t, filepath.Join(dir, "shared", ".git", "objects", "info", "alternates"), "../../../main/.git/objects\n")
		},
	}
	for _, layout := range []string{"loose objects", "packed objects", "a relative path"} {
		arrange[layout]()
		for name, others := range map[string][]string{"shared": nil, "nested": {"shared"}, "linked": {"shared"}} {
			at := filepath.Join(dir, name)
			grants := []string{at}
			for _, other := range others {
				grants = append(grants, filepath.Join(dir, other))
			}
			find := abi.GitSearch{Repo: at, Text: "second"}
			want := gittest.Git(t, at, "log", "-1", "--format=%h", "--grep=second")
			if got, err := gittest.Granted(append(grants, r.Dir)...).FindCommit(t.Context(), find); err != nil || got.Hash != want || want == "" {
				t.Errorf("%s, %s: got %q, %v; git says %q", layout, name, got.Hash, err, want)
			}
			_, err := gittest.Granted(grants...).FindCommit(t.Context(), find)
			if remedy := fmt.Sprintf("{ repo = %q, access = \"r\" }", r.Dir); gittest.Code(err) != abi.HostDenied || !strings.Contains(err.Error(), remedy) {
				t.Errorf("%s, %s: got %v, want it to name %s", layout, name, err, remedy)
			}
		}
	}
	t.Run("reading suffices for a commit in the clone", func(t *testing.T) {
		shared := filepath.Join(dir, "shared")
		ops := gittest.NewOps(git.Config{Grants: []git.Grant{{Repo: shared, Write: true}, {Repo: r.Dir}}, User: gittest.User(git.User{Identity: gittest.Someone})})
		commit := gittest.NewCommit(r, gittest.Text("a.txt", "a"))
		commit.Repo = shared
		if _, err := ops.CommitBranch(t.Context(), commit); err != nil {
			t.Error(err)
		}
	})
}

// Operations can read a linked worktree in the grant, and a shallow clone, which git creates.
func TestLinkedWorktreeAndShallowClone(t *testing.T) {
	dir := t.TempDir()
	r := gittest.Sample(t, filepath.Join(dir, "main"))
	gittest.Git(t, r.Dir, "worktree", "add", "-q", "../linked", "feature/x")
	gittest.Git(t, dir, "clone", "-q", "--depth=1", "file://"+r.Dir, "shallow")
	cases := []struct{ rule, repo, text, branch string }{
		{"a linked worktree has a HEAD of its own", "linked", "feature", "feature/x"},
		{"a linked worktree has its repository's branches", "linked", "first", "main"},
		{"a shallow clone ends where it was cut", "shallow", "second", "main"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			top := filepath.Join(dir, c.repo)
			got, err := gittest.Granted(dir).FindCommit(t.Context(), abi.GitSearch{Repo: top, Text: c.text})
			if want := gittest.Git(t, top, "log", "-1", "--format=%h", "--grep="+c.text); err != nil || got.Hash != want || want == "" {
				t.Errorf("got %q, %v; git says %q", got.Hash, err, want)
			}
			if ok, err := gittest.Granted(dir).BranchExists(t.Context(), abi.GitBranch{Repo: top, Branch: c.branch}); err != nil || !ok {
				t.Errorf("branch %s: %v, %v", c.branch, ok, err)
			}
		})
	}
	t.Run("what a shallow clone lacks is not found", func(t *testing.T) {
		got, err := gittest.Granted(dir).FindCommit(t.Context(), abi.GitSearch{Repo: filepath.Join(dir, "shallow"), Text: "first"})
		if err != nil || got.Hash != "" {
			t.Errorf("got %q, %v", got.Hash, err)
		}
	})
}
