package remote_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/remote"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// remoteServer starts a TLS server. All host names resolve to that server.
func remoteServer(tb testing.TB, h http.Handler) git.Config {
	tb.Helper()
	server := httptest.NewTLSServer(h)
	server.Config.ErrorLog = nil
	tb.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return git.Config{
		Remotes: []string{"https://example.com/r.git"},
		Transport: remote.NewTransport(func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
		}, roots),
	}
}

// backend returns a handler that serves the repositories below dir with git http-backend, in the given version of the protocol.
func backend(tb testing.TB, dir, version string) http.Handler {
	tb.Helper()
	core := gittest.Git(tb, dir, "--exec-path")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		env := []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
		r.Header.Del("Git-Protocol")
		if version != "0" {
			env = append(env, "GIT_PROTOCOL=version="+version)
		}
		(&cgi.Handler{Path: filepath.Join(core, "git-http-backend"), Env: env, Stderr: io.Discard}).ServeHTTP(w, r)
	})
}

// served creates a repository with two commits, tags and branches. It returns that repository, and the directory that contains its bare
// clone r.git.
func served(t *testing.T) (dir string, r *gittest.Repo) {
	t.Helper()
	r = gittest.GitSample(t)
	gittest.Git(t, r.Dir, "tag", "light")
	gittest.Write(t, r.Dir+"/notes.txt", strings.Repeat("a line that packs well\n", 1000)+"second\n")
	gittest.Write(t, r.Dir+"/dir/other.txt", strings.Repeat("a line that packs well\n", 1000)+"other\n")
	gittest.Git(t, r.Dir, "add", ".")
	gittest.Git(t, r.Dir, "commit", "--quiet", "--message=second")
	gittest.Git(t, r.Dir, "tag", "--annotate", "--message=v1", "v1", "HEAD~1")
	gittest.Git(t, r.Dir, "branch", "feature/x", "HEAD~1")
	dir = t.TempDir()
	gittest.Git(t, dir, "clone", "--quiet", "--bare", r.Dir, "r.git")
	return dir, r
}

func TestListRemote(t *testing.T) {
	dir, r := served(t)
	rev := func(name string) string { return gittest.Git(t, r.Dir, "rev-parse", name) }
	head := abi.GitRemoteRef{Name: "HEAD", Hash: rev("main"), Target: "refs/heads/main"}
	main := abi.GitRemoteRef{Name: "refs/heads/main", Hash: rev("main")}
	feature := abi.GitRemoteRef{Name: "refs/heads/feature/x", Hash: rev("feature/x")}
	light := abi.GitRemoteRef{Name: "refs/tags/light", Hash: rev("light")}
	v1 := abi.GitRemoteRef{Name: "refs/tags/v1", Hash: rev("v1"), Peeled: rev("v1^{}")}
	cases := []struct {
		rule  string
		names []string
		want  []abi.GitRemoteRef
	}{
		{"all", nil, []abi.GitRemoteRef{head, feature, main, light, v1}},
		{"by name", []string{"refs/heads/main", "refs/tags/v1"}, []abi.GitRemoteRef{main, v1}},
		{"HEAD", []string{"HEAD"}, []abi.GitRemoteRef{head}},
		{"a name is not the beginning of one", []string{"refs/heads/mai", "refs/heads/feature"}, []abi.GitRemoteRef{}},
		{"an absent file", []string{"refs/heads/nope"}, []abi.GitRemoteRef{}},
	}
	for _, version := range []string{"0", "1", "2"} {
		ops := git.New(remoteServer(t, backend(t, dir, version)))
		for _, c := range cases {
			t.Run("protocol "+version+": "+c.rule, func(t *testing.T) {
				got, err := ops.ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r.git", Names: c.names})
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got.Refs); diff != "" {
					t.Error(diff)
				}
			})
		}
		t.Run("protocol "+version+": an empty repository", func(t *testing.T) {
			empty := t.TempDir()
			gittest.Git(t, empty, "init", "--quiet", "--bare", "r.git")
			ops := git.New(remoteServer(t, backend(t, empty, version)))
			got, err := ops.ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r.git"})
			if err != nil || len(got.Refs) != 0 {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// fetchAll fetches all pages of a commit's files.
func fetchAll(t *testing.T, ops *git.Ops, q abi.GitFetch) (files map[string]string, pages int) {
	t.Helper()
	files = map[string]string{}
	for {
		page, err := ops.Fetch(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		pages++
		for _, f := range page.Files {
			if f.Path <= q.After {
				t.Fatalf("%q comes after %q", f.Path, q.After)
			}
			files[f.Path], q.After = f.Mode+" "+strings.TrimSpace(string(f.Content)), f.Path
		}
		if !page.More {
			return files, pages
		}
	}
}

func TestFetch(t *testing.T) {
	dir, r := served(t)
	for _, version := range []string{"0", "2"} {
		config := remoteServer(t, backend(t, dir, version))
		for _, branch := range []string{"main", "feature/x"} {
			want := r.BranchFiles(branch)
			q := abi.GitFetch{URL: "https://example.com/r.git", Commit: gittest.Git(t, r.Dir, "rev-parse", branch)}
			t.Run("protocol "+version+": all of "+branch, func(t *testing.T) {
				got, pages := fetchAll(t, git.New(config), q)
				if diff := cmp.Diff(want, got); diff != "" || pages != 1 {
					t.Errorf("%d pages: %s", pages, diff)
				}
			})
			t.Run("protocol "+version+": page by page of "+branch, func(t *testing.T) {
				small := config
				small.MaxFile = 24 << 10
				got, pages := fetchAll(t, git.New(small), q)
				if diff := cmp.Diff(want, got); diff != "" || branch == "main" && pages != 2 {
					t.Errorf("%d pages: %s", pages, diff)
				}
			})
			t.Run("protocol "+version+": a directory of "+branch, func(t *testing.T) {
				in := map[string]string{}
				for name, content := range want {
					if strings.HasPrefix(name, "dir/") {
						in[name] = content
					}
				}
				for _, folder := range []string{"dir", "dir/"} {
					q := q
					q.Folder = folder
					got, _ := fetchAll(t, git.New(config), q)
					if diff := cmp.Diff(in, got); diff != "" {
						t.Error(diff)
					}
				}
			})
		}
		t.Run("protocol "+version+": a commit that is not there", func(t *testing.T) {
			_, err := git.New(config).Fetch(t.Context(), abi.GitFetch{URL: "https://example.com/r.git", Commit: strings.Repeat("ab", 20)})
			if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "the remote says") {
				t.Errorf("got %v", err)
			}
		})
		t.Run("protocol "+version+": a file beyond the limit", func(t *testing.T) {
			small := config
			small.MaxFile = 1000
			_, err := git.New(small).Fetch(t.Context(), abi.GitFetch{URL: "https://example.com/r.git", Commit: gittest.Git(t, r.Dir, "rev-parse", "main")})
			if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "dir/other.txt") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("protocol 2: a commit that no reference names", func(t *testing.T) {
		old := gittest.Git(t, r.Dir, "rev-parse", "main~1")
		gittest.Git(t, dir+"/r.git", "branch", "-D", "feature/x")
		gittest.Git(t, dir+"/r.git", "tag", "-d", "v1", "light")
		got, _ := fetchAll(t, git.New(remoteServer(t, backend(t, dir, "2"))), abi.GitFetch{URL: "https://example.com/r.git", Commit: old})
		if diff := cmp.Diff(r.BranchFiles(old), got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestRemotesMustBeGranted(t *testing.T) {
	dialled := false
	config := git.Config{Transport: remote.NewTransport(func(context.Context, string, string) (net.Conn, error) {
		dialled = true
		return nil, errors.New("dialled")
	}, nil)}
	cases := []struct {
		rule    string
		remotes []string
		url     string
		code    string
	}{
		{"no grant", nil, "https://example.com/r.git", abi.HostDenied},
		{"another path", []string{"https://example.com/r.git"}, "https://example.com/r.git/x", abi.HostDenied},
		{"a path that begins so", []string{"https://example.com/r"}, "https://example.com/r.git", abi.HostDenied},
		{"another host", []string{"https://example.com/r.git"}, "https://example.org/r.git", abi.HostDenied},
		{"a host that begins so", []string{"https://example.com/r.git"}, "https://example.com.evil.org/r.git", abi.HostDenied},
		{"another port", []string{"https://example.com/r.git"}, "https://example.com:444/r.git", abi.HostDenied},
		{"a way up", []string{"https://example.com/a/r.git"}, "https://example.com/b/../a/r.git", abi.HostInvalid},
		{"a hidden way up", []string{"*"}, "https://example.com/b/%2e%2e/a", abi.HostInvalid},
		{"another case of the path", []string{"https://example.com/R.git"}, "https://example.com/r.git", abi.HostDenied},
		{"the same URL in another form", []string{"https://Example.com:443/r.git/"}, "https://example.com/r.git", abi.HostFailed},
		{"any", []string{"*"}, "https://example.org/r.git", abi.HostFailed},
		{"http", []string{"*"}, "http://example.com/r.git", abi.HostInvalid},
		{"ssh", []string{"*"}, "ssh://git@example.com/r.git", abi.HostInvalid},
		{"the short ssh form", []string{"*"}, "git@example.com:r.git", abi.HostInvalid},
		{"a file", []string{"*"}, "file:///etc", abi.HostInvalid},
		{"a path", []string{"*"}, "/etc", abi.HostInvalid},
		{"a flag", []string{"*"}, "--upload-pack=x", abi.HostInvalid},
		{"a helper", []string{"*"}, "ext::sh -c x", abi.HostInvalid},
		{"a user", []string{"*"}, "https://me:secret@example.com/r.git", abi.HostInvalid},
		{"a query", []string{"*"}, "https://example.com/r.git?x=y", abi.HostInvalid},
		{"a fragment", []string{"*"}, "https://example.com/r.git#", abi.HostInvalid},
		{"no host", []string{"*"}, "https:///r.git", abi.HostInvalid},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			dialled = false
			config.Remotes = c.remotes
			_, err := git.New(config).ListRemote(t.Context(), abi.GitRemoteQuery{URL: c.url})
			if gittest.Code(err) != c.code || dialled != (c.code == abi.HostFailed) {
				t.Errorf("got %v, dialled %v; want %s", err, dialled, c.code)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the password is disclosed: %v", err)
			}
			_, err = git.New(config).Fetch(t.Context(), abi.GitFetch{URL: c.url, Commit: strings.Repeat("ab", 20)})
			if gittest.Code(err) != c.code {
				t.Errorf("fetch: got %v; want %s", err, c.code)
			}
		})
	}
	t.Run("without a transport nothing is reached", func(t *testing.T) {
		_, err := git.New(git.Config{Remotes: []string{"*"}}).ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r"})
		if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "no network access") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an environment's proxy is not asked", func(t *testing.T) {
		t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
		asked := ""
		c := git.Config{Remotes: []string{"*"}, Transport: remote.NewTransport(func(_ context.Context, _, address string) (net.Conn, error) {
			asked = address
			return nil, errors.New("no")
		}, nil)}
		_, _ = git.New(c).ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r"})
		if asked != "example.com:443" {
			t.Errorf("dialled %q", asked)
		}
	})
	t.Run("an untrusted certificate is refused", func(t *testing.T) {
		c := remoteServer(t, http.NotFoundHandler())
		c.Transport.(*http.Transport).TLSClientConfig.RootCAs = x509.NewCertPool()
		_, err := git.New(c).ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r.git"})
		if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("got %v", err)
		}
	})
	for _, q := range []abi.GitFetch{{Commit: "main"}, {Commit: "abcd"}, {Commit: strings.Repeat("ab", 20), Folder: "../x"}, {Commit: strings.Repeat("ab", 20), Folder: "/dir"},
		{Commit: strings.Repeat("ab", 20), After: strings.Repeat("a", 5000)}} {
		t.Run(fmt.Sprintf("the request %.30q is refused", q), func(t *testing.T) {
			q.URL = "https://example.com/r"
			if _, err := git.New(git.Config{Remotes: []string{"*"}}).Fetch(t.Context(), q); gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
	for _, name := range []string{"main", "refs/heads/a\nb", "refs/../x", "--x", ""} {
		t.Run(fmt.Sprintf("the reference %q is refused", name), func(t *testing.T) {
			_, err := git.New(git.Config{Remotes: []string{"*"}}).ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r", Names: []string{name}})
			if gittest.Code(err) != abi.HostInvalid {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	dir, _ := served(t)
	good := backend(t, dir, "2")
	cases := []struct {
		rule, to string
		why      string // reason of the refusal; empty if the redirect is followed
	}{
		{"within the origin", "/r.git/info/refs?service=git-upload-pack", ""},
		{"to another host", "https://example.org/r.git/info/refs?service=git-upload-pack", "a different origin"},
		{"to another port", "https://example.com:444/r.git/info/refs", "a different origin"},
		{"to plain http", "http://example.com/r.git/info/refs", "a different origin"},
		{"to a URL that is not a repository", "/r.git/HEAD", "smart protocol"},
		{"in a circle", "/old/info/refs", "redirects more than 5 times"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			config := remoteServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/old") {
					http.Redirect(w, r, c.to, http.StatusMovedPermanently)
					return
				}
				good.ServeHTTP(w, r)
			}))
			config.Remotes = []string{"https://example.com/old"}
			_, err := git.New(config).ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/old"})
			if c.why == "" && err != nil || c.why != "" && (gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("got %v; want %q", err, c.why)
			}
		})
	}
	t.Run("of a later request is not followed", func(t *testing.T) {
		config := remoteServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				http.Redirect(w, r, "/r.git/git-upload-pack", http.StatusTemporaryRedirect)
				return
			}
			good.ServeHTTP(w, r)
		}))
		_, err := git.New(config).ListRemote(t.Context(), abi.GitRemoteQuery{URL: "https://example.com/r.git"})
		if gittest.Code(err) != abi.HostFailed || !strings.Contains(err.Error(), "other than the first one") {
			t.Errorf("got %v", err)
		}
	})
}
