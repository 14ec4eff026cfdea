package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

const commit = "0123456789abcdef0123456789abcdef01234567"

// remote registers handlers that serve git operations on the remote repository https://git.example/mods.git. It returns
// the list in which the handlers record the requests.
func remote(w *world) *[]string {
	var asked []string
	w.Host.Handle(abi.OpGitListRemote, func(raw json.RawMessage) (any, error) {
		var q abi.GitRemoteQuery
		err := json.Unmarshal(raw, &q)
		asked = append(asked, "list "+strings.Join(q.Names, " "))
		return abi.GitRemoteRefs{Refs: []abi.GitRemoteRef{{Name: "refs/heads/main", Hash: commit}}}, err
	})
	w.Host.Handle(abi.OpGitFetch, func(raw json.RawMessage) (any, error) {
		var q abi.GitFetch
		err := json.Unmarshal(raw, &q)
		asked = append(asked, "fetch "+q.Commit)
		return abi.GitFetched{Files: []abi.GitFetchedFile{
			{Path: "other/x.md", Mode: abi.GitModeFile, Content: []byte("x")},
			{Path: "prompts/p.md", Mode: abi.GitModeFile, Content: []byte("from git\n")},
		}}, err
	})
	return &asked
}

// gitModule returns a manifest whose only module is a prompt with the given git source.
func gitModule(source string) string {
	return strings.Replace(standard("prompt:p"), "local_path: {path: modules/prompt/p}", "git: {url: 'https://git.example/mods.git', "+source+"}", 1)
}

func TestModulesFromGit(t *testing.T) {
	t.Run("fetched once, then from the cache", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: gitModule("subdir: prompts")})
		asked := remote(w)
		for range 2 {
			w.Wants(``, "create home/.codex/prompts/p.md")
		}
		want := []string{"list refs/heads/main refs/tags/main", "fetch " + commit, "list refs/heads/main refs/tags/main"}
		if diff := cmp.Diff(want, *asked); diff != "" {
			t.Error(diff)
		}
		w.Deploy(``)
		if got := w.Read("home/.codex/prompts/p.md"); got != "from git\n" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("the lockfile has precedence over the manifest", func(t *testing.T) {
		w := newWorld(t, map[string]string{
			repoFile: gitModule("subdir: nowhere, ref: v9"),
			"home/.agentpack/repo/agentpack.lock.json": `{"version":1,"modules":[{"id":"prompt:p","resolved_source":{"git":{"url":"https://git.example/mods.git","commit":"` + commit + `","subdir":"prompts"}}}]}`,
		})
		asked := remote(w)
		w.Wants(``, "create home/.codex/prompts/p.md")
		if diff := cmp.Diff([]string{"fetch " + commit}, *asked); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a remote that is not granted", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: gitModule("subdir: prompts")})
		got := w.Call("plan", ``)
		if got.OK || !strings.Contains(got.Errors[0].Message, "https://git.example/mods.git") || !strings.Contains(got.Errors[0].Message, "prompt:p") {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("a subdir outside of the repository", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: gitModule("subdir: '../..'")})
		remote(w)
		if details := w.Fails("plan", ``, "E_CONFIG_INVALID"); details["module_id"] != "prompt:p" {
			t.Error(details)
		}
	})
}
