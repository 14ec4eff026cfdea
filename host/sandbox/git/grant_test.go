package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

// ask runs all three operations on a folder and demands that they agree: found, or an error's code.
func ask(t *testing.T, grant, folder string) (found bool, err error) {
	t.Helper()
	ops := granted(grant)
	found, err = ops.BranchExists(t.Context(), abi.GitBranch{Repo: folder, Branch: "main"})
	content, err2 := ops.ReadFile(t.Context(), abi.GitFile{Repo: folder, Branch: "main", Path: "notes.txt"})
	commit, err3 := ops.FindCommit(t.Context(), abi.GitSearch{Repo: folder, Text: "second"})
	if content.Found != found || (commit.Hash != "") != found || code(err2) != code(err) || code(err3) != code(err) {
		t.Errorf("the operations disagree:\nbranch %v, %v\nfile %v, %v\ncommit %q, %v", found, err, content.Found, err2, commit.Hash, err3)
	}
	return found, err
}

// What a grant reaches. In each case the repository "repo" lies in the folder all/grant.
func TestReach(t *testing.T) {
	cases := []struct {
		rule          string
		grant, folder string // below all
		found         bool
		code          string
	}{
		{"the granted folder itself", "grant/repo", "grant/repo", true, ""},
		{"a grant that ends in a slash", "grant/repo/", "grant/repo", true, ""},
		{"a folder of the repository", "grant/repo", "grant/repo/dir", true, ""},
		{"a repository below the granted folder", "grant", "grant/repo", true, ""},
		{"a folder without a repository", "grant", "grant", false, ""},
		{"a folder that is not there", "grant", "grant/nope", false, ""},
		{"a file is no folder", "grant", "grant/repo/.git/HEAD", false, ""},
		{"a granted folder that is not there", "nope", "nope", false, ""},
		{"a repository whose top lies above the grant", "grant/repo/dir", "grant/repo/dir", false, ""},
		{"a folder beside the grant", "grant/repo", "grant/other", false, abi.HostDenied},
		{"a folder that begins like the grant", "grant/repo", "grant/repo-2", false, abi.HostDenied},
		{"a folder above the grant", "grant/repo", "grant", false, abi.HostDenied},
		{"a way out by two dots", "grant/repo", "grant/repo/../repo-2", false, abi.HostDenied},
		{"a way in by two dots", "grant/repo", "grant/repo-2/../repo", true, ""},
		{"the root of all", "grant/repo", "../../../../../../../../..", false, abi.HostDenied},
	}
	all := t.TempDir()
	for _, name := range []string{"repo", "repo-2", "other"} {
		r := sample(t, filepath.Join(all, "grant", name))
		mkdir(t, filepath.Join(r.dir, "dir"))
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			found, err := ask(t, all+"/"+c.grant, all+"/"+c.folder)
			if found != c.found || code(err) != c.code {
				t.Errorf("got %v, %v; want %v, %q", found, err, c.found, c.code)
			}
		})
	}
}

func TestNoGrantReachesNothing(t *testing.T) {
	r := sample(t, t.TempDir())
	_, err := granted().BranchExists(t.Context(), abi.GitBranch{Repo: r.dir, Branch: "main"})
	if code(err) != abi.HostDenied || !strings.Contains(err.Error(), "[capabilities] git") {
		t.Errorf("got %v", err)
	}
}

func TestOneOfSeveralGrantsIsEnough(t *testing.T) {
	dir := t.TempDir()
	r := sample(t, filepath.Join(dir, "b"))
	mkdir(t, r.dir+"/dir")
	for _, grants := range [][]string{{dir + "/a", r.dir}, {r.dir + "/dir", r.dir}, {r.dir, r.dir + "/dir"}} {
		ok, err := granted(grants...).BranchExists(t.Context(), abi.GitBranch{Repo: r.dir + "/dir", Branch: "main"})
		if err != nil || !ok {
			t.Errorf("%v: got %v, %v", grants, ok, err)
		}
	}
}

// Repositories that lead out of the grant, into one that is whole and would answer. Each arranges
// all/grant/repo; the victim is all/victim.
func TestNothingLeadsOutOfTheGrant(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(t *testing.T, r, victim *repo)
		names   string // what the message must name
	}{
		{".git is a file that points out, absolutely", func(t *testing.T, r, victim *repo) {
			replace(t, r.dot, func() { write(t, r.dot, "gitdir: "+victim.dot+"\n") })
		}, "/.git points to"},
		{".git is a file that points out, relatively", func(t *testing.T, r, _ *repo) {
			replace(t, r.dot, func() { write(t, r.dot, "gitdir: ../../victim/.git\n") })
		}, "/.git points to"},
		{".git is a file that points at a folder that begins like the grant", func(t *testing.T, r, _ *repo) {
			replace(t, r.dot, func() { write(t, r.dot, "gitdir: "+filepath.Dir(r.dir)+"-2/.git\n") })
		}, "/.git points to"},
		{".git is a link out, absolute", func(t *testing.T, r, victim *repo) {
			replace(t, r.dot, func() { symlink(t, victim.dot, r.dot) })
		}, "/.git is a link to"},
		{".git is a link out, relative", func(t *testing.T, r, _ *repo) {
			replace(t, r.dot, func() { symlink(t, "../../victim/.git", r.dot) })
		}, "/.git is a link to"},
		{".git is a link to a link out", func(t *testing.T, r, _ *repo) {
			replace(t, r.dot, func() { symlink(t, "hop/.git", r.dot); symlink(t, "../../victim", r.dir+"/hop") })
		}, "/hop is a link to"},
		{"the repository's folder is a link out", func(t *testing.T, r, _ *repo) {
			replace(t, r.dir, func() { symlink(t, "../victim", r.dir) })
		}, "/repo is a link to"},
		{"commondir points out, absolutely", func(t *testing.T, r, victim *repo) {
			write(t, r.dot+"/commondir", victim.dot+"\n")
		}, "/commondir points to"},
		{"commondir points out, relatively", func(t *testing.T, r, _ *repo) {
			write(t, r.dot+"/commondir", "../../../victim/.git\n")
		}, "/commondir points to"},
		{"commondir is a link out", func(t *testing.T, r, _ *repo) {
			symlink(t, "/etc/hostname", r.dot+"/commondir")
		}, "/commondir is a link to"},
		{"alternates point out, absolutely", func(t *testing.T, r, victim *repo) {
			write(t, r.dot+"/objects/info/alternates", victim.dot+"/objects\n")
		}, "/alternates points to"},
		{"alternates point out, relatively", func(t *testing.T, r, _ *repo) {
			write(t, r.dot+"/objects/info/alternates", "../../../../victim/.git/objects\n")
		}, "/alternates points to"},
		{"alternates point out in quotes", func(t *testing.T, r, _ *repo) {
			write(t, r.dot+"/objects/info/alternates", `"../../../../victi\155/.git/objects"`)
		}, "/alternates points to"},
		{"alternates of alternates point out", func(t *testing.T, r, victim *repo) {
			write(t, r.dot+"/objects/info/alternates", "../../store\n")
			write(t, r.dir+"/store/info/alternates", victim.dot+"/objects\n")
		}, "/store/info/alternates points to"},
		{"alternates lead to a link out", func(t *testing.T, r, victim *repo) {
			write(t, r.dot+"/objects/info/alternates", "../../store\n")
			symlink(t, victim.dot+"/objects", r.dir+"/store")
		}, "/store is a link to"},
		{"the objects are a link out", func(t *testing.T, r, victim *repo) {
			replace(t, r.dot+"/objects", func() { symlink(t, victim.dot+"/objects", r.dot+"/objects") })
		}, "/objects is a link to"},
		{"the references are a link out", func(t *testing.T, r, victim *repo) {
			replace(t, r.dot+"/refs", func() { symlink(t, victim.dot+"/refs", r.dot+"/refs") })
		}, "/refs is a link to"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			all := t.TempDir()
			victim := sample(t, filepath.Join(all, "victim"))
			sample(t, filepath.Join(all, "grant-2"))
			r := sample(t, filepath.Join(all, "grant", "repo"))
			c.arrange(t, r, victim)
			found, err := ask(t, filepath.Join(all, "grant"), r.dir)
			if found || code(err) != abi.HostDenied {
				t.Fatalf("got %v, %v; want it denied", found, err)
			}
			if !strings.Contains(err.Error(), c.names) || !strings.Contains(err.Error(), "--project") {
				t.Errorf("the message names neither the culprit nor the remedy: %v", err)
			}
		})
	}
}

// Parts of a repository that are links out are refused by the operations that would read them.
func TestLinkedPartsAreRefused(t *testing.T) {
	branch := func(t *testing.T, r *repo) error {
		_, err := granted(r.dir).BranchExists(t.Context(), abi.GitBranch{Repo: r.dir, Branch: "main"})
		return err
	}
	commit := func(t *testing.T, r *repo) error {
		_, err := granted(r.dir).FindCommit(t.Context(), abi.GitSearch{Repo: r.dir, Text: "second"})
		return err
	}
	cases := []struct {
		rule, part string
		ask        func(*testing.T, *repo) error
	}{
		{"a branch's file", "refs/heads/main", branch},
		{"a folder of branches", "refs/heads", branch},
		{"HEAD", "HEAD", commit},
		{"the list of a shallow clone", "shallow", commit},
		{"the folder of packs", "objects/pack", commit},
	}
	for _, c := range cases {
		for _, absolute := range []bool{true, false} {
			t.Run(c.rule+map[bool]string{true: ", absolutely", false: ", relatively"}[absolute], func(t *testing.T) {
				all := t.TempDir()
				victim := sample(t, filepath.Join(all, "victim"))
				write(t, victim.dot+"/shallow", "")
				r := sample(t, filepath.Join(all, "repo"))
				part := filepath.Join(r.dot, c.part)
				target := filepath.Join(victim.dot, c.part)
				if !absolute {
					var err error
					target, err = filepath.Rel(filepath.Dir(part), target)
					must(t, err)
				}
				replace(t, part, func() { symlink(t, target, part) })
				err := c.ask(t, r)
				if code(err) != abi.HostDenied || !strings.Contains(err.Error(), c.part+" is a link to") {
					t.Errorf("got %v; want it denied", err)
				}
			})
		}
	}
	t.Run("a loose object", func(t *testing.T) {
		r := sample(t, t.TempDir())
		head, err := r.st.Reference("refs/heads/main")
		must(t, err)
		h := head.Hash().String()
		object := filepath.Join(r.dot, "objects", h[:2], h[2:])
		replace(t, object, func() { symlink(t, "/etc/hostname", object) })
		if err := commit(t, r); code(err) != abi.HostDenied {
			t.Errorf("got %v; want it denied", err)
		}
	})
}

// Links and pointers that stay inside are followed.
func TestPointersInsideOfTheGrantAreFollowed(t *testing.T) {
	cases := map[string]func(t *testing.T, r *repo){
		".git is a file, absolute": func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dot, r.dir+"/../git"))
			write(t, r.dot, "gitdir: "+filepath.Join(r.dir, "..", "git")+"\n")
		},
		".git is a file, relative": func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dot, r.dir+"/../git"))
			write(t, r.dot, "gitdir: ../git\n")
		},
		".git is a link": func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dot, r.dir+"/../git"))
			symlink(t, "../git", r.dot)
		},
		"the objects are a link": func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dot+"/objects", r.dir+"/store"))
			symlink(t, "../store", r.dot+"/objects")
		},
		"a branch is a link": func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dot+"/refs/heads/main", r.dot+"/refs/heads/real"))
			symlink(t, "real", r.dot+"/refs/heads/main")
		},
		"a linked worktree": func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dir, filepath.Dir(r.dir)+"/main"))
			own := filepath.Dir(r.dir) + "/main/.git/worktrees/w"
			write(t, own+"/HEAD", "ref: refs/heads/main\n")
			write(t, own+"/commondir", "../..\n")
			write(t, r.dot, "gitdir: "+own+"\n")
		},
		"a .git folder that is no repository is passed by": func(t *testing.T, r *repo) {
			must(t, os.Rename(r.dot, r.dir+"/../.git"))
			mkdir(t, r.dot)
		},
		"alternates that are not there are passed by": func(t *testing.T, r *repo) {
			write(t, r.dot+"/objects/info/alternates", "../../nope\n\n#x\n")
		},
		"alternates in a circle end": func(t *testing.T, r *repo) {
			write(t, r.dot+"/objects/info/alternates", "../../store\n")
			write(t, r.dir+"/store/info/alternates", "../.git/objects\n../store\n")
		},
	}
	for rule, arrange := range cases {
		t.Run(rule, func(t *testing.T) {
			r := sample(t, filepath.Join(t.TempDir(), "repo"))
			arrange(t, r)
			found, err := ask(t, filepath.Dir(r.dir), r.dir)
			if err != nil || !found {
				t.Errorf("got %v, %v", found, err)
			}
		})
	}
}

// A grant may have been named by a link: it is the directory that the link led to, by whose path modules name
// it, and git writes absolute paths with links resolved.
func TestGrantThatIsALink(t *testing.T) {
	all := t.TempDir()
	r := sample(t, filepath.Join(all, "real", "repo"))
	must(t, os.Rename(r.dot, filepath.Join(all, "real", "git")))
	write(t, r.dot, "gitdir: "+filepath.Join(all, "real", "git")+"\n")
	symlink(t, "real", filepath.Join(all, "grant"))
	found, err := ask(t, filepath.Join(all, "grant"), filepath.Join(all, "real", "repo"))
	if err != nil || !found {
		t.Errorf("got %v, %v", found, err)
	}
}

// Configuration, hooks and replacements take no effect.
func TestNothingIsConfigured(t *testing.T) {
	r := sample(t, t.TempDir())
	main, err := r.st.Reference("refs/heads/main")
	must(t, err)
	other, err := r.st.Reference("refs/heads/feature/x")
	must(t, err)
	marker := filepath.Join(r.dir, "ran")
	write(t, r.dot+"/config", "[core]\n\tfsmonitor = touch "+marker+"\n\tpager = touch "+marker+"\n[include]\n\tpath = /etc/hostname\n")
	write(t, r.dot+"/hooks/post-checkout", "#!/bin/sh\ntouch "+marker+"\n")
	write(t, r.dot+"/info/attributes", "* filter=touch\n")
	must(t, r.st.SetReference(plumbing.NewHashReference(plumbing.ReferenceName("refs/replace/"+main.Hash().String()), other.Hash())))
	found, err := ask(t, r.dir, r.dir)
	if err != nil || !found {
		t.Errorf("got %v, %v", found, err)
	}
	if _, err := os.Stat(marker); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something ran: %v", err)
	}
}

func replace(t *testing.T, name string, by func()) {
	t.Helper()
	must(t, os.RemoveAll(name))
	by()
}
