package tools_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestDamagedSnapshot checks that without manifests, the tool plan fails if a snapshot is damaged, and the tool status
// succeeds.
func TestDamagedSnapshot(t *testing.T) {
	w := newWorld(t, base())
	w.Deploy(``)
	for _, path := range []string{"home/.codex/.agentpack.manifest.codex.json", promptManifest} {
		w.Remove(path)
	}
	w.Write("home/.agentpack/state/snapshots/1000.json", "{")
	w.Fails("plan", ``, "E_UNEXPECTED")
	w.Fails("deploy", ``, "E_UNEXPECTED")
	for tool, arguments := range map[string]string{"status": ``, "doctor": ``, "explain": `{"kind":"status"}`, "evolve_restore": `{"dry_run":true}`} {
		w.OK(tool, arguments, nil)
	}
}

// TestPathsWithDotsInSnapshot checks that a path with ".." in a snapshot, which deploy never records, does not count as
// managed.
func TestPathsWithDotsInSnapshot(t *testing.T) {
	w := newWorld(t, map[string]string{repoFile: standard(), "home/.codex/prompts/own": "x", "home/.codex/prompts/other": "x"})
	w.Write("home/.agentpack/state/snapshots/1000.json", `{"kind":"deploy","id":"1000","created_at":"x","targets":["codex"],"lockfile_sha256":null,"backup_root":"","changes":[],
		"managed_files":[{"target":"codex","path":"`+w.Codex+`/prompts/../prompts/other","sha256":"00"},{"target":"codex","path":"`+w.Codex+`/prompts/own","sha256":"00"}]}`)
	w.Wants(``, "delete home/.codex/prompts/own")
	w.Fails("rollback", `{"yes":true,"to":"1000"}`, "E_UNEXPECTED")
}

// TestNewFilesArePrivate checks that a new file is readable only by its owner, and that an existing file keeps its
// mode.
func TestNewFilesArePrivate(t *testing.T) {
	w := newWorld(t, base())
	w.Write(promptOut, "mine")
	if err := os.Chmod(w.path(promptOut), 0o664); err != nil {
		t.Fatal(err)
	}
	w.Deploy(``)
	for path, want := range map[string]os.FileMode{instructionsOut: 0o600, promptManifest: 0o600, promptOut: 0o664} {
		info, err := os.Stat(w.path(path))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	w.Remove(instructionsOut)
	w.OK("evolve_restore", `{"yes":true}`, nil)
	if info, err := os.Stat(w.path(instructionsOut)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the restored file has the mode %v, %v", info.Mode(), err)
	}
}

// TestDeployAsksOnceForPrivateFiles checks that the number of host operations of a deploy does not grow with the number of
// new files, if the host creates private files.
func TestDeployAsksOnceForPrivateFiles(t *testing.T) {
	operations := func(count int) (asked int) {
		t.Run(fmt.Sprint(count, " files"), func(t *testing.T) {
			w := newWorld(t, manyModules(count))
			w.Host.Handle(abi.OpFSCreateMode, func(raw json.RawMessage) (any, error) {
				if string(raw) != `{"mode":384}` {
					t.Errorf("fs/create_mode gets %s", raw)
				}
				asked++
				return nil, nil
			})
			w.Host.Handle(abi.OpFSMode, func(json.RawMessage) (any, error) {
				asked++
				return abi.FileModeResult{Mode: 0o600}, nil
			})
			w.Deploy(``)
		})
		return asked
	}
	if few, many := operations(5), operations(20); few != many {
		t.Errorf("%d operations on modes for 5 files, %d for 20", few, many)
	}
}

// TestDoctorOnUngrantedRepositories checks that doctor warns about a repository that is not granted only if a .git
// exists.
func TestDoctorOnUngrantedRepositories(t *testing.T) {
	w := newWorld(t, base())
	w.Write("home/.codex/prompts/x", "")
	w.Host.Handle(abi.OpGitTopLevel, func(json.RawMessage) (any, error) {
		return nil, &abi.HostError{Code: abi.HostDenied, Message: "outside of the granted repositories"}
	})
	const note = "cannot determine whether git ignores"
	if got := w.OK("doctor", ``, nil); strings.Contains(strings.Join(got.Warnings, "\n"), note) {
		t.Errorf("got %q", got.Warnings)
	}
	w.Write("home/.codex/.git/HEAD", "ref: refs/heads/main\n")
	warned(t, w.OK("doctor", ``, nil), note)
}

// TestExplainStatusOrder checks that drifted files are sorted by target and then by path, and that paths are compared
// component by component.
func TestExplainStatusOrder(t *testing.T) {
	w := newWorld(t, map[string]string{
		repoFile: config("codex: {mode: files, scope: user}", "instructions:base", "prompt:hello", "skill:a", "skill:a-b"), modules("instructions/base/AGENTS.md"): "x",
		modules("prompt/hello/hello.md"): "x", modules("skill/a/SKILL.md"): skillText, modules("skill/a-b/SKILL.md"): skillText,
	})
	w.Deploy(``)
	for _, path := range []string{"AGENTS.md", "prompts/hello.md", "skills/a/SKILL.md", "skills/a-b/SKILL.md"} {
		w.Remove("home/.codex/" + path)
	}
	var got struct{ Drift []struct{ Path string } }
	w.OK("explain", `{"kind":"status"}`, &got)
	paths := []string{}
	for _, item := range got.Drift {
		paths = append(paths, strings.TrimPrefix(item.Path, w.Codex+"/"))
	}
	if diff := cmp.Diff([]string{"AGENTS.md", "prompts/hello.md", "skills/a/SKILL.md", "skills/a-b/SKILL.md"}, paths); diff != "" {
		t.Error(diff)
	}
}

func TestEmptyBranch(t *testing.T) {
	w := newWorld(t, base())
	w.Fails("evolve_propose", `{"yes":true,"branch":""}`, "E_UNEXPECTED")
}

// TestRollbackRecordsManifests checks that the snapshot of a rollback lists the restored manifests.
func TestRollbackRecordsManifests(t *testing.T) {
	w := newWorld(t, base())
	first := w.Deploy(``).SnapshotID
	var got struct {
		Event string `json:"event_snapshot_id"`
	}
	w.OK("rollback", `{"yes":true,"to":"`+first+`"}`, &got)
	record := w.Read("home/.agentpack/state/snapshots/" + got.Event + ".json")
	if !strings.Contains(record, w.path(promptManifest)) || strings.Count(record, `"rollback_restore"`) != 4 {
		t.Errorf("got %s", record)
	}
}
