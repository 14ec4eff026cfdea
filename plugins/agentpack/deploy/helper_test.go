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

// home is a home directory with agentpack's data, together with a clock.
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

// dir returns a new, empty directory. The directory is in memory if possible, because the tests of this package create
// hundreds of directories.
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

// wanted returns a desired state with the given files. The keys have the form "target:path", with a path below the home
// directory. The roots are .codex, .codex/prompts (which is scanned for unmanaged files) and project/.cursor.
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

// plan returns a Request with the plan for the given files. The keys of files have the same form as for the method
// wanted.
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

// deploy advances the clock by a minute, deploys files, and returns the id of the snapshot.
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

// files returns the content of the files in the home directory, except for agentpack's data. The keys are paths.
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

// same fails the test unless the files in the home directory, without manifests, equal want.
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

// summary returns each change of a snapshot as a short line, with a path below the home directory.
func (h *home) summary(s *deploy.Snapshot) []string {
	var lines []string
	for _, c := range s.Changes {
		has := func(text string) string { return map[bool]string{true: "-", false: "+"}[text == ""] }
		lines = append(lines, fmt.Sprintf("%s %s %s %s%s%s", c.Op, c.Target, strings.TrimPrefix(c.Path, h.path+"/"), has(c.BackupPath), has(c.Before), has(c.After)))
	}
	return lines
}
