package git_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/gittest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestDigestOfCredentials checks that a URL is returned without its credentials, together with a digest of the credentials.
func TestDigestOfCredentials(t *testing.T) {
	r := gittest.New(t, t.TempDir())
	gittest.Git(t, r.Dir, "remote", "add", "origin", "x")
	for url, want := range map[string]abi.GitURL{
		"https://github.com/a/b.git":                 {URL: "https://github.com/a/b.git"},
		"git@github.com:a/b.git":                     {URL: "git@github.com:a/b.git"},
		"ssh://git@github.com/a/b":                   {URL: "ssh://git@github.com/a/b"},
		"https://user@github.com/example/example":    {URL: "https://github.com/example/example", Digest: "c61df226e082bbd9"},
		"http://User@GitHub.com/example/example.git": {URL: "http://GitHub.com/example/example.git", Digest: "c61df226e082bbd9"},
	} {
		gittest.Git(t, r.Dir, "remote", "set-url", "origin", url) // each operation reads the configuration again
		got, err := gittest.Granted(r.Dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir})
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", url, got, err)
		}
	}
	seen := map[string]bool{}
	for _, user := range []string{"me:one@", "me:two@", "me@", "you@"} {
		gittest.Git(t, r.Dir, "remote", "set-url", "origin", "https://"+user+"example.com/r")
		got, err := gittest.Granted(r.Dir).RemoteURL(t.Context(), abi.GitRemote{Repo: r.Dir})
		if err != nil || seen[got.Digest] || len(got.Digest) != 16 || strings.Contains(got.URL, "@") {
			t.Errorf("%s: got %+v, %v", user, got, err)
		}
		seen[got.Digest] = true
	}
}
