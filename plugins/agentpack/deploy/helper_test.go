package deploy_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// home is a home directory with agentpack's data, and a clock.
type home struct {
	t    testing.TB
	path string
	now  time.Time
	fs   filesystem.FS
}

func newHome(t testing.TB, files map[string]string) *home {
	t.Helper()
	path, err := filepath.EvalSymlinks(dir(t))
	if err != nil {
		t.Fatal(err)
	}
	h := &home{t: t, path: path, now: time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC), fs: filesystem.OS{}}
	for name, content := range files {
		h.write(name, content)
	}
	return h
}

// dir returns an empty directory, in memory if possible: these tests create hundreds.
func dir(t testing.TB) string {
	t.Helper()
	path, err := os.MkdirTemp("/dev/shm", "agentpack-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(path); err != nil {
			t.Error(err)
		}
	})
	return path
}

func (h *home) at(name string) string { return filepath.Join(h.path, name) }

func (h *home) write(name, content string) {
	h.t.Helper()
	err := os.MkdirAll(filepath.Dir(h.at(name)), 0o755)
	if err == nil {
		err = os.WriteFile(h.at(name), []byte(content), 0o644)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) remove(name string) {
	h.t.Helper()
	if err := os.RemoveAll(h.at(name)); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) deployer() deploy.Deployer {
	return deploy.Deployer{FS: h.fs, Env: env.Env{Now: h.now, Home: h.path, Cwd: h.path, Var: func(string) string { return "" }}}
}

// wanted returns the desired state with files, whose keys are "target:path" with a path below the home. The roots are
// .codex, .codex/prompts (scanned) and project/.cursor.
func (h *home) wanted(files map[string]string) *output.State {
	h.t.Helper()
	var b output.Builder
	b.AddRoot(output.Root{Target: "codex", Path: h.at(".codex")})
	b.AddRoot(output.Root{Target: "codex", Path: h.at(".codex/prompts"), ScanExtras: true})
	b.AddRoot(output.Root{Target: "cursor", Path: h.at("project/.cursor")})
	for name, content := range files {
		target, path, _ := strings.Cut(name, ":")
		key := output.Key{Target: target, Path: h.at(path)}
		if err := b.Add(key, []byte(content), output.Origin{Module: "m:" + filepath.Base(path), Path: "x"}); err != nil {
			h.t.Fatal(err)
		}
	}
	return b.State()
}

// plan returns the plan for files, given in the form that the method wanted takes.
func (h *home) plan(files map[string]string) deploy.Request {
	h.t.Helper()
	state := h.wanted(files)
	dirs, _ := output.ReadManifests(state.Roots)
	keys, err := output.ManagedKeys(dirs, []string{"codex", "cursor"}, func() ([]output.Key, error) {
		return deploy.LastDeployed(h.deployer().Env.SnapshotDir())
	})
	if err != nil {
		h.t.Fatal(err)
	}
	planned, err := plan.Compute(state, keys, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return deploy.Request{State: state, Plan: planned}
}

// deploy deploys files a minute later, and returns the snapshot's id.
func (h *home) deploy(files map[string]string) string {
	h.t.Helper()
	h.now = h.now.Add(time.Minute)
	id, err := h.deployer().Apply(h.plan(files))
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

func (h *home) rollback(to string) string {
	h.t.Helper()
	h.now = h.now.Add(time.Minute)
	event, warnings, err := h.deployer().Rollback(to)
	if err != nil || len(warnings) > 0 {
		h.t.Fatal(warnings, err)
	}
	return event
}

// files returns the files of the home by path, without agentpack's data.
func (h *home) files() map[string]string {
	h.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(h.path, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, h.path+"/")
		if entry.IsDir() {
			if name == ".agentpack" {
				return fs.SkipDir
			}
			return nil
		}
		content, err := os.ReadFile(path)
		found[name] = string(content)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return found
}

// same fails the test unless the files of the home, without manifests, equal want.
func (h *home) same(want map[string]string) {
	h.t.Helper()
	now := h.files()
	for name := range now {
		if output.IsManifest(filepath.Base(name)) {
			delete(now, name)
		}
	}
	if diff := cmp.Diff(want, now); diff != "" {
		h.t.Errorf("the files: %s", diff)
	}
}

func (h *home) load(id string) *deploy.Snapshot {
	h.t.Helper()
	s, err := deploy.LoadSnapshot(h.deployer().Env.SnapshotDir(), id)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// summary returns a snapshot's changes as short lines, with paths below the home.
func (h *home) summary(s *deploy.Snapshot) []string {
	var lines []string
	for _, c := range s.Changes {
		has := func(text string) string { return map[bool]string{true: "-", false: "+"}[text == ""] }
		lines = append(lines, fmt.Sprintf("%s %s %s %s%s%s", c.Op, c.Target, strings.TrimPrefix(c.Path, h.path+"/"), has(c.BackupPath), has(c.Before), has(c.After)))
	}
	return lines
}
