package git_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestTopLevelOperation(t *testing.T) {
	all := t.TempDir()
	r := gittest.New(t, all+"/grant/repo")
	gittest.New(t, all+"/grant/repo/nested")
	gittest.Mkdir(t, r.Dir+"/a/b")
	gittest.Write(t, r.Dir+"/a/file", "x")
	cases := []struct{ rule, grant, path, want, code string }{
		{"the top level itself", "grant", "grant/repo", "grant/repo", ""},
		{"a directory below it", "grant", "grant/repo/a/b", "grant/repo", ""},
		{"a file", "grant", "grant/repo/a/file", "grant/repo", ""},
		{"an absent path", "grant", "grant/repo/a/new/file", "grant/repo", ""},
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
			got, err := gittest.Granted(all+"/"+c.grant).TopLevel(t.Context(), abi.GitPath{Path: all + "/" + c.path})
			if c.path == "" {
				_, err = gittest.Granted(all).TopLevel(t.Context(), abi.GitPath{Path: "a/b"})
				c.code = abi.HostInvalid
			}
			want := ""
			if c.want != "" {
				want = all + "/" + c.want
			}
			if got.TopLevel != want || gittest.Code(err) != c.code {
				t.Errorf("got %q, %v; want %q, %q", got.TopLevel, err, want, c.code)
			}
		})
	}
}

func TestCurrentBranch(t *testing.T) {
	cases := []struct {
		rule    string
		arrange func(*gittest.Repo, plumbing.Hash)
		branch  string
		born    bool
	}{
		{"a branch", func(r *gittest.Repo, h plumbing.Hash) { r.Branch("main", h) }, "main", true},
		{"a branch with a slash", func(r *gittest.Repo, h plumbing.Hash) { r.Branch("a/b", h); r.SetHead("a/b") }, "a/b", true},
		{"a packed branch", func(r *gittest.Repo, h plumbing.Hash) { r.Branch("main", h); gittest.Must(r.TB, r.Store.PackRefs()) }, "main", true},
		{"unborn", func(*gittest.Repo, plumbing.Hash) {}, "main", false},
		{"detached", func(r *gittest.Repo, h plumbing.Hash) { gittest.Write(r.TB, r.Dot+"/HEAD", h.String()+"\n") }, "", true},
		{"an old link", linkHead, "main", true},
	}
	for _, c := range cases {
		t.Run("HEAD is "+c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			h := r.Commit("m\n", 1, r.Tree())
			c.arrange(r, h)
			want := abi.GitHead{Branch: c.branch}
			if c.born {
				want.Commit = h.String()
			}
			got, err := gittest.Granted(r.Dir).CurrentBranch(t.Context(), abi.GitRepo{Repo: r.Dir})
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
	t.Run("no repository", func(t *testing.T) {
		dir := t.TempDir()
		got, err := gittest.Granted(dir).CurrentBranch(t.Context(), abi.GitRepo{Repo: dir})
		if err != nil || got != (abi.GitHead{}) {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestResolveRef(t *testing.T) {
	for _, layout := range []string{"loose", "packed"} {
		r := gittest.New(t, t.TempDir())
		blob := r.Blob("notes\n")
		first := r.Commit("first\n", 1000, r.Tree(gittest.File("a", blob)))
		second := r.Commit("second\n", 2000, r.Tree(gittest.File("b", blob)), first)
		tag := r.Raw(plumbing.TagObject, []byte("object "+first.String()+"\ntype commit\ntag v1\ntagger A <a> 1 +0000\n\nv1\n"))
		outer := r.Raw(plumbing.TagObject, []byte("object "+tag.String()+"\ntype tag\ntag v1x\ntagger A <a> 1 +0000\n\nv1\n"))
		ref := func(name string, h plumbing.Hash) {
			gittest.Must(t, r.Store.SetReference(plumbing.NewHashReference(plumbing.ReferenceName(name), h)))
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
			r.Pack(false)
			gittest.Must(t, r.Store.PackRefs())
		}
		gittest.Must(t, r.Store.SetReference(plumbing.NewSymbolicReference("refs/remotes/origin/HEAD", "refs/remotes/origin/dev")))
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
			{"an annotated tag is peeled to its commit", "v1", abi.GitObject{Hash: tag.String(), Commit: first.String()}},
			{"a tag of a tag too", "refs/tags/v1x", abi.GitObject{Hash: outer.String(), Commit: first.String()}},
			{"a tag of a file has no commit", "blob", abi.GitObject{Hash: blob.String()}},
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
			{"the directory of a branch", "remotes", abi.GitObject{}},
		}
		for _, c := range cases {
			t.Run(layout+": "+c.rule, func(t *testing.T) {
				got, err := gittest.Granted(r.Dir).ResolveRef(t.Context(), abi.GitRef{Repo: r.Dir, Ref: c.ref})
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
				if got := gittest.Git(t, r.Dir, "-c", "core.warnAmbiguousRefs=false", "rev-parse", "--verify", c.ref); got != c.want.Hash {
					t.Errorf("%s: git says %s, want %s", c.ref, got, c.want.Hash)
				}
			}
		})
	}
	t.Run("an abbreviated hash of several objects is an error", func(t *testing.T) {
		r := gittest.New(t, t.TempDir())
		seen := map[string]bool{}
		for i := 0; ; i++ {
			short := r.Blob(fmt.Sprint(i)).String()[:4]
			if seen[short] {
				_, err := gittest.Granted(r.Dir).ResolveRef(t.Context(), abi.GitRef{Repo: r.Dir, Ref: short})
				if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "ambiguous") {
					t.Errorf("got %v", err)
				}
				return
			}
			seen[short] = true
		}
	})
	r := gittest.Sample(t, t.TempDir())
	for _, name := range []string{"", "-x", "--all", "a..b", "main@{1}", "@{u}", "main^", "main~1", ":/x", "main:notes.txt", "a b", "a\nb", "a\x00b",
		"../HEAD", "refs/../HEAD", "/etc/passwd", "*", "x.lock", "@", strings.Repeat("a", 2000)} {
		t.Run(fmt.Sprintf("%.20q is refused", name), func(t *testing.T) {
			_, err := gittest.Granted(r.Dir).ResolveRef(t.Context(), abi.GitRef{Repo: r.Dir, Ref: name})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, content := range []string{"object x\n", "", "type commit\n", "object " + strings.Repeat("ab", 20) + "\n"} {
		t.Run(fmt.Sprintf("a tag that holds %.10q is an error", content), func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			r.Branch("main", r.Raw(plumbing.TagObject, []byte(content)))
			gittest.FailsWith(t, "", func(ctx context.Context) error {
				_, err := gittest.Granted(r.Dir).ResolveRef(ctx, abi.GitRef{Repo: r.Dir, Ref: "main"})
				return err
			})
		})
	}
}

func TestRemoteURL(t *testing.T) {
	const other = "\n[remote \"other\"]\n\turl = https://example.com/other.git\n"
	cases := []struct{ rule, config, remote, want string }{
		{"origin's URL", "[remote \"origin\"]\n\turl = https://example.com/a.git\n", "", "https://example.com/a.git"},
		{"that of another remote", "[remote \"origin\"]\n\turl = x" + other, "other", "https://example.com/other.git"},
		{"the first of several, from which git fetches", "[remote \"origin\"]\n\turl = a\n\turl = b\n", "", "a"},
		{"an empty one takes back those before it", "[remote \"origin\"]\n\turl = a\n\turl =\n\turl = b\n", "", "b"},
		{"a remote's name has its case", "[remote \"Origin\"]\n\turl = a\n", "", ""},
		{"an unknown remote has none", other, "", ""},
		{"a remote without one", "[remote \"origin\"]\n\tfetch = x\n\turl\n", "", ""},
		{"without a configuration there is none", "", "", ""},
		{"user and password are removed", url("https://me:secret@example.com/a.git"), "", "https://example.com/a.git"},
		{"a token as user name is removed", url("https://ghp_secret@example.com/a.git"), "", "https://example.com/a.git"},
		{"an at sign in the password does not end it", url("https://me:sec@ret@example.com/a"), "", "https://example.com/a"},
		{"an at sign in the path is kept", url("https://example.com/@a/b"), "", "https://example.com/@a/b"},
		{"a malformed URL loses its password too", url("https://me:%zz@exa mple.com/a"), "", "https://exa mple.com/a"},
		{"an ssh URL keeps its user", url("ssh://git@example.com/a.git"), "", "ssh://git@example.com/a.git"},
		{"an ssh URL loses its password", url("SSH://git:secret@example.com:22/a.git"), "", "SSH://git@example.com:22/a.git"},
		{"the short ssh form is as it is", url("git@example.com:a/b.git"), "", "git@example.com:a/b.git"},
		{"a helper's URL loses both", url("helper::http://me:secret@example.com/"), "", "helper::http://example.com/"},
		{"a path is as it is", url("../other.git"), "", "../other.git"},
		{"insteadOf is not applied", "[url \"https://evil/\"]\n\tinsteadOf = gh:\n" + url("gh:a/b"), "", "gh:a/b"},
		{"an include is not followed", "[include]\n\tpath = included\n", "", ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			gittest.Write(t, r.Dot+"/config", c.config)
			gittest.Write(t, r.Dot+"/included", "[remote \"origin\"]\n\turl = https://example.com/included.git\n")
			got, err := gittest.Granted(r.Dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir, Remote: c.remote})
			if err != nil || got.URL != c.want {
				t.Errorf("got %q, %v; want %q", got.URL, err, c.want)
			}
		})
	}
	t.Run("a configuration that cannot be read says the line", func(t *testing.T) {
		r := gittest.New(t, t.TempDir())
		gittest.Write(t, r.Dot+"/config", "[core]\n\tbare = false\n[remote\n")
		_, err := gittest.Granted(r.Dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir})
		if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "config: line 3") {
			t.Errorf("got %v", err)
		}
	})
	for _, name := range []string{"--upload-pack=x", "a b", "a..b", "../x", "a\nb"} {
		t.Run("the remote "+name+" is refused", func(t *testing.T) {
			r := gittest.New(t, t.TempDir())
			_, err := gittest.Granted(r.Dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir, Remote: name})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func url(u string) string { return "[remote \"origin\"]\n\turl = \"" + u + "\"\n" }
