package module_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/module"
)

// The id of the module in these tests, and the directories of its overlay in each layer.
const (
	id      = "instructions:a"
	global  = "overlays/instructions_a--1b59cb31ea/"
	machine = "overlays/machines/m1/instructions_a--1b59cb31ea/"
	project = "projects/p1/overlays/instructions_a--1b59cb31ea/"
	meta    = ".agentpack/"
)

// layers writes the files of a config repo, and returns the layers for machine m1 and project p1.
func layers(t *testing.T, files map[string]string) module.Layers {
	t.Helper()
	repo := t.TempDir()
	for path, content := range files {
		at := filepath.Join(repo, path)
		testenv.WriteFile(t, at, content)
	}
	return module.NewLayers(repo, "m1", "p1")
}

func upstream() module.Tree {
	return module.Tree{"AGENTS.md": []byte("one\ntwo\n"), "more.md": []byte("more\n")}
}

func patchOf(from, to string) string {
	return "--- a/AGENTS.md\n+++ b/AGENTS.md\n@@ -1,2 +1,2 @@\n one\n-" + from + "\n+" + to + "\n"
}

const patchKind = `{"overlay_kind":"patch"}`

func TestCompose(t *testing.T) {
	tests := []struct {
		name   string
		files  map[string]string
		want   map[string]string // the expected content of each file that differs from upstream; the key is the path
		layers map[string]module.Layer
	}{
		{"no overlay", nil, nil, nil},
		{"a global file replaces", map[string]string{global + "AGENTS.md": "G"}, map[string]string{"AGENTS.md": "G"}, map[string]module.Layer{"AGENTS.md": module.LayerGlobal}},
		{"a file is added", map[string]string{global + "deep/new.md": "N"}, map[string]string{"deep/new.md": "N"}, map[string]module.Layer{"deep/new.md": module.LayerGlobal}},
		{
			"project over machine over global",
			map[string]string{global + "AGENTS.md": "G", machine + "AGENTS.md": "M", project + "AGENTS.md": "P", global + "more.md": "g", machine + "more.md": "m"},
			map[string]string{"AGENTS.md": "P", "more.md": "m"},
			map[string]module.Layer{"AGENTS.md": module.LayerProject, "more.md": module.LayerMachine},
		},
		{
			"overlays of other machines and projects are ignored",
			map[string]string{"overlays/machines/m2/instructions_a--1b59cb31ea/AGENTS.md": "M", "projects/p2/overlays/instructions_a--1b59cb31ea/AGENTS.md": "P"}, nil, nil,
		},
		{"metadata and files of git are ignored", map[string]string{global + meta + "module_id": id, global + ".git/config": "x", global + "sub/.agentpack/x": "y"}, nil, nil},
		{
			"a patch changes a line", map[string]string{global + meta + "overlay.json": patchKind, global + meta + "patches/AGENTS.md.patch": patchOf("two", "2")},
			map[string]string{"AGENTS.md": "one\n2\n"}, nil,
		},
		{
			"a patch changes what a lower layer made",
			map[string]string{
				global + "AGENTS.md": "one\nglobal\n", project + meta + "overlay.json": patchKind,
				project + meta + "patches/AGENTS.md.patch": patchOf("global", "patched"),
			},
			map[string]string{"AGENTS.md": "one\npatched\n"}, map[string]module.Layer{"AGENTS.md": module.LayerGlobal},
		},
		{"an empty kind is dir", map[string]string{global + meta + "overlay.json": "{}", global + "AGENTS.md": "G"}, map[string]string{"AGENTS.md": "G"}, map[string]module.Layer{"AGENTS.md": module.LayerGlobal}},
		{"a directory named by the raw id is used", map[string]string{"overlays/" + id + "/AGENTS.md": "raw"}, map[string]string{"AGENTS.md": "raw"}, map[string]module.Layer{"AGENTS.md": module.LayerGlobal}},
		{
			"the canonical directory has precedence", map[string]string{"overlays/" + id + "/more.md": "raw", global + "AGENTS.md": "G"},
			map[string]string{"AGENTS.md": "G"}, map[string]module.Layer{"AGENTS.md": module.LayerGlobal},
		},
		{"a file in place of the directory is ignored", map[string]string{strings.TrimSuffix(global, "/"): "x"}, nil, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := module.Compose(layers(t, test.files), id, upstream())
			if err != nil {
				t.Fatal(err)
			}
			want, wantLayers := upstream(), map[string]module.Layer{"AGENTS.md": module.LayerUpstream, "more.md": module.LayerUpstream}
			for path, content := range test.want {
				want[path] = []byte(content)
			}
			maps.Copy(wantLayers, test.layers)
			if diff := cmp.Diff(want, got.Files); diff != "" {
				t.Errorf("files (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(wantLayers, got.Layers); diff != "" {
				t.Errorf("layers (-want +got)\n%s", diff)
			}
			if len(got.Warnings) > 0 {
				t.Errorf("warnings: %q", got.Warnings)
			}
		})
	}
}

func TestComposeRefuses(t *testing.T) {
	tests := []struct {
		name    string
		files   map[string]string
		code    fault.Code
		details []string
	}{
		{"a kind that is not JSON", map[string]string{global + meta + "overlay.json": "{oops"}, fault.ConfigInvalid, []string{"overlay_dir", "meta_path", "hint"}},
		{"an unknown kind", map[string]string{global + meta + "overlay.json": `{"overlay_kind":"x"}`}, fault.ConfigInvalid, []string{"overlay_dir", "meta_path", "hint"}},
		{
			"files and patches", map[string]string{global + meta + "overlay.json": patchKind, global + meta + "patches/AGENTS.md.patch": "", global + "AGENTS.md": ""},
			fault.ConfigInvalid, []string{"override_files", "patch_files", "module_id", "scope", "overlay_dir", "hint"},
		},
		{"patches in an overlay of files", map[string]string{global + meta + "patches/AGENTS.md.patch": ""}, fault.ConfigInvalid, []string{"module_id"}},
		{"files in an overlay of patches", map[string]string{machine + meta + "overlay.json": patchKind, machine + "AGENTS.md": ""}, fault.ConfigInvalid, []string{"module_id"}},
		{
			"a patch of a missing file", map[string]string{global + meta + "overlay.json": patchKind, global + meta + "patches/none.md.patch": ""},
			fault.ConfigInvalid, []string{"module_id", "scope", "patch_file", "relpath", "overlay_dir", "hint"},
		},
		{
			"a suffix in upper case is not removed", map[string]string{global + meta + "overlay.json": patchKind, global + meta + "patches/AGENTS.md.PATCH": patchOf("two", "2")},
			fault.ConfigInvalid, []string{"relpath"},
		},
		{
			"an invalid patch", map[string]string{global + meta + "overlay.json": patchKind, global + meta + "patches/AGENTS.md.patch": "x"},
			fault.ConfigInvalid, []string{"module_id", "scope", "patch_file", "relpath", "overlay_dir", "hint"},
		},
		{
			"a patch of other text", map[string]string{global + meta + "overlay.json": patchKind, global + meta + "patches/AGENTS.md.patch": patchOf("three", "3")},
			fault.OverlayPatchApplyFailed, []string{"module_id", "scope", "patch_file", "relpath", "overlay_dir", "hint", "stderr"},
		},
		{"a baseline that is not JSON", map[string]string{global + meta + "baseline.json": "{", global + "AGENTS.md": "G"}, fault.Unexpected, nil},
		{"a baseline without sums", map[string]string{global + meta + "baseline.json": "{}", global + "AGENTS.md": "G"}, fault.Unexpected, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := module.Compose(layers(t, test.files), id, upstream())
			if err == nil {
				t.Fatal("Compose succeeded")
			}
			got := fault.Of(err)
			if got.Code != test.code {
				t.Errorf("got %s %s, want %s", got.Code, got.Message, test.code)
			}
			for _, detail := range test.details {
				if got.Details[detail] == nil {
					t.Errorf("no %s in %v", detail, got.Details)
				}
			}
		})
	}
}

func TestComposeWarnsAboutDrift(t *testing.T) {
	then := func(whole, agents string) string {
		return `{"version":2,"upstream_sha256":"` + whole + `","file_manifest":[{"path":"AGENTS.md","sha256":"` + agents + `","bytes":8},{"path":"gone.md","sha256":"aa","bytes":1}]}`
	}
	now := upstream().Hash()
	const agents = "0fd0127fd16f2e1e24fb1a2c1a2a7a0a2b1f0d41bd4a1f6d6b6d0d0e6f2b8c11"
	tests := []struct {
		name, baseline, override string
		want                     []string
	}{
		{"an overridden file has changed", then(now, agents), "AGENTS.md", []string{"AGENTS.md has changed"}},
		{"an overridden file has gone", then(now, agents), "gone.md", []string{"gone.md is no longer in the module"}},
		{"something else has changed", then("00", agents), "own.md", []string{"other files of the module have changed"}},
		{"nothing has changed", then(now, agents), "own.md", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := module.Compose(layers(t, map[string]string{global + meta + "baseline.json": test.baseline, global + test.override: "G"}), id, upstream())
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Warnings) != len(test.want) {
				t.Fatalf("got %q, want %q", got.Warnings, test.want)
			}
			for i, want := range test.want {
				if !strings.Contains(got.Warnings[i], want) || !strings.Contains(got.Warnings[i], "overlay (global) of module "+id) {
					t.Errorf("got %s, want %s", got.Warnings[i], want)
				}
			}
		})
	}
}

func TestCheck(t *testing.T) {
	l := layers(t, map[string]string{
		global + "x": "", "overlays/" + id + "/x": "", global + meta + "module_id": id + "\n",
		strings.TrimSuffix(machine, "/"): "a file", project + meta + "module_id": "another",
	})
	got := l.Check(id)
	want := []string{"overlay layout (global) module " + id + ": candidates are", "overlay layout (machine) module " + id, "overlay metadata (project) module " + id}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("got %s, want %s", got[i], want[i])
		}
	}
	if got := l.Check("other"); len(got) > 0 {
		t.Errorf("another module: got %q", got)
	}
}

func TestCandidates(t *testing.T) {
	l := module.Layers{Repo: "/r", Machine: "m", Project: "p"}
	tests := []struct {
		id    string
		scope module.Layer
		count int
	}{
		{"a", module.LayerGlobal, 2}, {"a/b", module.LayerGlobal, 1}, {"..", module.LayerGlobal, 1}, {strings.Repeat("a", 70), module.LayerMachine, 3},
		{"machines", module.LayerGlobal, 1}, {"machines", module.LayerProject, 2}, {strings.Repeat("a", 300), module.LayerGlobal, 1},
	}
	for _, test := range tests {
		got := l.Candidates(test.scope, test.id)
		if len(got) != test.count || slices.ContainsFunc(got, func(dir string) bool { return filepath.Dir(dir) != filepath.Dir(got[0]) }) {
			t.Errorf("%.20q: got %q", test.id, got)
		}
	}
}
