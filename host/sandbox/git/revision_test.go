package git_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

func TestTopLevelOperation(t *testing.T) {
	all := t.TempDir()
	r := newRepo(t, all+"/grant/repo")
	newRepo(t, all+"/grant/repo/nested")
	mkdir(t, r.dir+"/a/b")
	write(t, r.dir+"/a/file", "x")
	cases := []struct{ rule, grant, path, want, code string }{
		{"the top level itself", "grant", "grant/repo", "grant/repo", ""},
		{"a folder below it", "grant", "grant/repo/a/b", "grant/repo", ""},
		{"a file", "grant", "grant/repo/a/file", "grant/repo", ""},
		{"what is not there yet", "grant", "grant/repo/a/new/file", "grant/repo", ""},
		{"below a file", "grant", "grant/repo/a/file/x", "grant/repo", ""},
		{"a repository in another", "grant", "grant/repo/nested/x", "grant/repo/nested", ""},
		{"no repository", "grant", "grant/other", "", ""},
		{"a top level above the grant is not seen", "grant/repo/a", "grant/repo/a/b", "", ""},
		{"outside of the grant", "grant/repo", "grant/other", "", abi.HostDenied},
		{"outside by two dots", "grant/repo", "grant/repo/../x", "", abi.HostDenied},
		{"no absolute path", "grant", "", "", ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			got, err := granted(all+"/"+c.grant).TopLevel(t.Context(), abi.GitPath{Path: all + "/" + c.path})
			if c.path == "" {
				_, err = granted(all).TopLevel(t.Context(), abi.GitPath{Path: "a/b"})
				c.code = abi.HostInvalid
			}
			want := ""
			if c.want != "" {
				want = all + "/" + c.want
			}
			if got.TopLevel != want || code(err) != c.code {
				t.Errorf("got %q, %v; want %q, %q", got.TopLevel, err, want, c.code)
			}
		})
	}
}

func TestCurrentBranch(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(*repo, plumbing.Hash)
		branch  string
		born    bool
	}{
		{"a branch", func(r *repo, h plumbing.Hash) { r.branch("main", h) }, "main", true},
		{"a branch with a slash", func(r *repo, h plumbing.Hash) { r.branch("a/b", h); r.setHead("a/b") }, "a/b", true},
		{"a packed branch", func(r *repo, h plumbing.Hash) { r.branch("main", h); must(r.tb, r.st.PackRefs()) }, "main", true},
		{"unborn", func(*repo, plumbing.Hash) {}, "main", false},
		{"detached", func(r *repo, h plumbing.Hash) { write(r.tb, r.dot+"/HEAD", h.String()+"\n") }, "", true},
		{"an old link", linkHead, "main", true},
	}
	for _, c := range cases {
		t.Run("HEAD is "+c.rule, func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			h := r.commit("m\n", 1, r.tree())
			c.arrange(r, h)
			want := abi.GitHead{Branch: c.branch}
			if c.born {
				want.Commit = h.String()
			}
			got, err := granted(r.dir).CurrentBranch(t.Context(), abi.GitRepo{Repo: r.dir})
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
	t.Run("no repository", func(t *testing.T) {
		dir := t.TempDir()
		got, err := granted(dir).CurrentBranch(t.Context(), abi.GitRepo{Repo: dir})
		if err != nil || got != (abi.GitHead{}) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestResolveRef(t *testing.T) {
	for _, layout := range []string{"loose", "packed"} {
		r := newRepo(t, t.TempDir())
		blob := r.blob("notes\n")
		first := r.commit("first\n", 1000, r.tree(file("a", blob)))
		second := r.commit("second\n", 2000, r.tree(file("b", blob)), first)
		tag := r.raw(plumbing.TagObject, []byte("object "+first.String()+"\ntype commit\ntag v1\ntagger A <a> 1 +0000\n\nv1\n"))
		outer := r.raw(plumbing.TagObject, []byte("object "+tag.String()+"\ntype tag\ntag v1x\ntagger A <a> 1 +0000\n\nv1\n"))
		ref := func(name string, h plumbing.Hash) {
			must(t, r.st.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(name), h)))
		}
		ref("refs/heads/main", second)
		ref("refs/heads/both", first)
		ref("refs/tags/both", second)
		ref("refs/tags/v1", tag)
		ref("refs/tags/v1x", outer)
		ref("refs/tags/blob", blob)
		ref("refs/remotes/origin/dev", first)
		ref("refs/heads/abcd", first)
		if layout == "packed" {
			r.pack(false)
			must(t, r.st.PackRefs())
		}
		must(t, r.st.SetReference(plumbing.NewSymbolicReference("refs/remotes/origin/HEAD", "refs/remotes/origin/dev")))
		commit := func(h plumbing.Hash) abi.GitObject { return abi.GitObject{Hash: h.String(), Commit: h.String()} }
		cases := []struct {
			rule, ref string
			want      abi.GitObject
		}{
			{"HEAD", "HEAD", commit(second)},
			{"a full reference", "refs/heads/main", commit(second)},
			{"a reference without its beginning", "heads/main", commit(second)},
			{"a branch", "main", commit(second)},
			{"a tag before a branch of its name", "both", commit(second)},
			{"an annotated tag leads to its commit", "v1", abi.GitObject{Hash: tag.String(), Commit: first.String()}},
			{"a tag of a tag too", "refs/tags/v1x", abi.GitObject{Hash: outer.String(), Commit: first.String()}},
			{"a tag of a file leads to none", "blob", abi.GitObject{Hash: blob.String()}},
			{"a remote branch", "origin/dev", commit(first)},
			{"a remote's own HEAD", "origin", commit(first)},
			{"a full hash", first.String(), commit(first)},
			{"a full hash in upper case", strings.ToUpper(first.String()), commit(first)},
			{"an abbreviated hash", first.String()[:8], commit(first)},
			{"of four digits", second.String()[:4], commit(second)},
			{"a branch before an abbreviated hash", "abcd", commit(first)},
			{"three digits are no hash", first.String()[:3], abi.GitObject{}},
			{"an unknown hash", strings.Repeat("ab", 20), abi.GitObject{}},
			{"an unknown abbreviated hash", "abcdabcd", abi.GitObject{}},
			{"an unknown name", "nope", abi.GitObject{}},
			{"the folder of a branch", "remotes", abi.GitObject{}},
		}
		for _, c := range cases {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				got, err := granted(r.dir).ResolveRef(t.Context(), abi.GitRef{Repo: r.dir, Ref: c.ref})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
		t.Run(layout+": git says the same", func(t *testing.T) {
			for _, c := range cases {
				if c.want.Hash == "" || len(c.ref) == 40 {
					continue
				}
				if got := program(t, r.dir, "-c", "core.warnAmbiguousRefs=false", "rev-parse", "--verify", c.ref); got != c.want.Hash {
					t.Errorf("%s: git says %s, want %s", c.ref, got, c.want.Hash)
				}
			}
		})
	}
	t.Run("an abbreviated hash of several objects is an error", func(t *testing.T) {
		r := newRepo(t, t.TempDir())
		seen := map[string]bool{}
		for i := 0; ; i++ {
			short := r.blob(fmt.Sprint(i)).String()[:4]
			if seen[short] {
				_, err := granted(r.dir).ResolveRef(t.Context(), abi.GitRef{Repo: r.dir, Ref: short})
				if code(err) != abi.HostFailed || !strings.Contains(err.Error(), "several objects") {
					t.Errorf("got %v", err)
				}
				return
			}
			seen[short] = true
		}
	})
	r := sample(t, t.TempDir())
	for _, name := range []string{"", "-x", "--all", "a..b", "main@{1}", "@{u}", "main^", "main~1", ":/x", "main:notes.txt", "a b", "a\nb", "a\x00b",
		"../HEAD", "refs/../HEAD", "/etc/passwd", "*", "x.lock", "@", strings.Repeat("a", 2000)} {
		t.Run(fmt.Sprintf("%.20q is refused", name), func(t *testing.T) {
			_, err := granted(r.dir).ResolveRef(t.Context(), abi.GitRef{Repo: r.dir, Ref: name})
			if code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, content := range []string{"object x\n", "", "type commit\n", "object " + strings.Repeat("ab", 20) + "\n"} {
		t.Run(fmt.Sprintf("a tag that holds %.10q is an error", content), func(t *testing.T) {
			r := newRepo(t, t.TempDir())
			r.branch("main", r.raw(plumbing.TagObject, []byte(content)))
			survives(t, "", func(ctx contextT) error {
				_, err := granted(r.dir).ResolveRef(ctx, abi.GitRef{Repo: r.dir, Ref: "main"})
				return err
			})
		})
	}
}

// The names of branches that are taken are names that git takes.
func FuzzBranchNameAgainstGit(f *testing.F) {
	for _, seed := range []string{"main", "feature/x", "", "-x", "a..b", "a@{b", "@", "a/@", "a.lock", "a/.b", "a\\b", "ünï", "HEAD", "a//b", "a.", "a/b.lock/c", "é", "a\x7f"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := git.CheckBranch(name)
		if _, lookErr := exec.LookPath("git"); lookErr != nil {
			t.Skip("NOT CHECKED against git: the git program is not on PATH")
		}
		if strings.ContainsRune(name, 0) || len(name) > 1000 {
			if err == nil {
				t.Fatalf("%q is taken", name)
			}
			return
		}
		gitErr := exec.Command("git", "check-ref-format", "--branch", name).Run()
		// Only here a part of a name may not be "@": git wants that of the whole.
		if strings.Contains("/"+name+"/", "/@/") || strings.HasPrefix(name, "@{-") {
			gitErr = os.ErrInvalid
		}
		if (err == nil) != (gitErr == nil) {
			t.Fatalf("%q: got %v, git says %v", name, err, gitErr)
		}
	})
}

func TestRepositoriesOfOtherFormatsAreRefused(t *testing.T) {
	cases := []struct{ config, why string }{
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n", "SHA-256"},
		{"[core]\n\trepositoryformatversion = 2\n", `version "2"`},
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\trefStorage = reftable\n", "extensions.refstorage"},
		{"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tfuture = x\n", "extensions.future"},
	}
	for _, c := range cases {
		t.Run(c.why, func(t *testing.T) {
			r := sample(t, filepath.Join(t.TempDir(), "r"))
			write(t, r.dot+"/config", c.config)
			_, err := granted(r.dir).Status(t.Context(), abi.GitStatusQuery{Repo: r.dir})
			if code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why) {
				t.Errorf("status: got %v", err)
			}
			_, err = writer(r.dir).CommitBranch(t.Context(), abi.GitNewCommit{Repo: r.dir, Branch: "b", Message: "m",
				Changes: []abi.GitChange{{Path: "a"}}})
			if code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why) {
				t.Errorf("commit: got %v", err)
			}
		})
	}
}
