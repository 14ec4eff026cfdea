//go:build !wasip1

package git_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/git"
	"github.com/bulkhead-mcp/bulkhead/sdk/internal/imports"
)

// setHost sets a fake host that returns the given results in sequence. It returns a pointer to the requests that the host receives.
func setHost(t *testing.T, results ...string) *[]string {
	t.Helper()
	var requests []string
	imports.SetHost(&imports.Host{Call: func(request []byte) []byte {
		requests = append(requests, string(request))
		if len(results) < len(requests) {
			return []byte(`{"error":{"code":"denied","message":"no more"}}`)
		}
		return fmt.Appendf(nil, `{"result":%s}`, results[len(requests)-1])
	}})
	t.Cleanup(func() { imports.SetHost(nil) })
	return &requests
}

func TestOperations(t *testing.T) {
	cases := []struct {
		op, request, answer string
		call                func() (any, error)
		want                any
	}{
		{"git/top_level", `{"path":"/r/a"}`, `{"top_level":"/r"}`, func() (any, error) { return git.TopLevel("/r/a") }, "/r"},
		{"git/current_branch", `{"repo":"/r"}`, `{"branch":"main","commit":"ab"}`, func() (any, error) {
			branch, commit, err := git.CurrentBranch("/r")
			return branch + " " + commit, err
		}, "main ab"},
		{"git/resolve_ref", `{"repo":"/r","ref":"v1"}`, `{"hash":"ab","commit":"cd"}`, func() (any, error) { return git.ResolveRef("/r", "v1") }, abi.GitObject{Hash: "ab", Commit: "cd"}},
		{"git/remote_url", `{"repo":"/r"}`, `{"url":"https://example.com/r"}`, func() (any, error) { return git.RemoteURL("/r", "") }, "https://example.com/r"},
		{"git/ignored", `{"repo":"/r","paths":["a","b/"]}`, `{"ignored":[true,false]}`, func() (any, error) { return git.Ignored("/r", "a", "b/") }, []bool{true, false}},
		{"git/status", `{"repo":"/r","limit":5}`, `{"found":true,"paths":[{"path":"a","staged":" ","unstaged":"M"}]}`, func() (any, error) { return git.Status("/r", 5) },
			abi.GitStatus{Found: true, Paths: []abi.GitPathStatus{{Path: "a", Staged: " ", Unstaged: "M"}}}},
		{"git/commit_branch", `{"repo":"/r","branch":"b","message":"m","changes":[{"path":"a","content":"eA=="},{"path":"b","deleted":true}]}`, `{"commit":"ab","parent":"cd"}`, func() (any, error) {
			return git.CommitBranch(abi.GitNewCommit{Repo: "/r", Branch: "b", Message: "m", Changes: []abi.GitChange{{Path: "a", Content: []byte("x")}, {Path: "b", Deleted: true}}})
		}, abi.GitCommitted{Commit: "ab", Parent: "cd"}},
		{"git/add", `{"repo":"/r","paths":["a","b"]}`, `{"changed":true}`, func() (any, error) { return git.Add("/r", "a", "b") }, abi.GitAdded{Changed: true}},
		{"git/commit", `{"repo":"/r","message":"m"}`, `{"commit":"ab","parent":"cd"}`, func() (any, error) { return git.Commit("/r", "m") }, abi.GitCommitted{Commit: "ab", Parent: "cd"}},
		{"git/create_branch", `{"repo":"/r","branch":"b","commit":"ab","from":"main"}`, `null`, func() (any, error) { return nil, git.CreateBranch("/r", "b", "ab", "main") }, nil},
		{"git/reset", `{"repo":"/r"}`, `null`, func() (any, error) { return nil, git.Reset("/r") }, nil},
		{"git/list_remote", `{"url":"https://example.com/r","names":["HEAD"]}`, `{"refs":[{"name":"HEAD","hash":"ab","target":"refs/heads/main"}]}`,
			func() (any, error) { return git.ListRemote("https://example.com/r", "HEAD") }, []abi.GitRemoteRef{{Name: "HEAD", Hash: "ab", Target: "refs/heads/main"}}},
	}
	for _, c := range cases {
		t.Run(c.op, func(t *testing.T) {
			requests := setHost(t, c.answer)
			got, err := c.call()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("the answer: %s", diff)
			}
			if diff := cmp.Diff(fmt.Sprintf(`{"op":%q,"params":%s}`, c.op, c.request), (*requests)[0]); diff != "" {
				t.Errorf("the request: %s", diff)
			}
			_, err = c.call()
			var refused *sdk.HostError
			if !errors.As(err, &refused) || refused.Code != abi.HostDenied {
				t.Errorf("a refusal: got %v", err)
			}
		})
	}
}

func TestFetchReadsAllPages(t *testing.T) {
	requests := setHost(t, `{"files":[{"path":"a","mode":"100644","content":"eA=="},{"path":"b","mode":"100755"}],"more":true}`,
		`{"files":[{"path":"c","mode":"120000","content":"YQ=="}]}`)
	var got []string
	err := git.Fetch("https://example.com/r", "ab", "dir", func(f abi.GitFetchedFile) error {
		got = append(got, f.Path+" "+f.Mode+" "+string(f.Content))
		return nil
	})
	if diff := cmp.Diff([]string{"a 100644 x", "b 100755 ", "c 120000 a"}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	var second struct{ Params abi.GitFetch }
	if err := json.Unmarshal([]byte((*requests)[1]), &second); err != nil {
		t.Fatal(err)
	}
	want := abi.GitFetch{URL: "https://example.com/r", Commit: "ab", Folder: "dir", After: "b"}
	if diff := cmp.Diff(want, second.Params); diff != "" {
		t.Error(diff)
	}
}

func TestFetchStopsAtFirstError(t *testing.T) {
	requests := setHost(t, `{"files":[{"path":"a","mode":"100644"},{"path":"b","mode":"100644"}],"more":true}`)
	full := errors.New("full")
	if err := git.Fetch("https://example.com/r", "ab", "", func(abi.GitFetchedFile) error { return full }); err != full || len(*requests) != 1 {
		t.Errorf("got %v after %d requests", err, len(*requests))
	}
}
