package output_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

const good = `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"a.md","sha256":"00","module_ids":["m"]}]}`

func TestReadManifests(t *testing.T) {
	const own, legacy = ".agentpack.manifest.codex.json", ".agentpack.manifest.json"
	tests := []struct {
		name     string
		files    map[string]string
		usable   bool
		want     []string
		warnings []string
	}{
		{"none", nil, false, nil, nil},
		{"a manifest of the target", map[string]string{own: good}, true, []string{"a.md"}, nil},
		{"a manifest with the file name of older versions", map[string]string{legacy: good}, true, []string{"a.md"}, []string{"the file name of older versions"}},
		{"a manifest of another target with the file name of older versions", map[string]string{legacy: strings.Replace(good, "codex", "cursor", 1)}, false, nil, []string{"older versions", "target manifest"}},
		{"the current file name has precedence", map[string]string{own: strings.Replace(good, "a.md", "b.md", 1), legacy: good}, true, []string{"b.md"}, nil},
		{"no generated_at", map[string]string{own: strings.Replace(good, `"generated_at":"2026-02-01T09:00:00Z",`, "", 1)}, false, nil, []string{"generated_at is missing"}},
		{"no managed_files", map[string]string{own: `{"schema_version":1,"generated_at":"x","tool":"codex"}`}, false, nil, []string{"managed_files is missing"}},
		{"managed_files that are null", map[string]string{own: `{"schema_version":1,"generated_at":"x","tool":"codex","managed_files":null}`}, false, nil, []string{"managed_files is missing"}},
		{"an entry without sha256", map[string]string{own: strings.Replace(good, `"sha256":"00",`, "", 1)}, false, nil, []string{"managed_files[0]"}},
		{"an entry without path", map[string]string{own: strings.Replace(good, `"path":"a.md",`, "", 1)}, false, nil, []string{"managed_files[0]"}},
		{"another form", map[string]string{own: strings.Replace(good, `"schema_version":1`, `"schema_version":999`, 1)}, false, nil, []string{"unsupported schema_version"}},
		{"another target", map[string]string{own: strings.Replace(good, "codex", "zed", 1)}, false, nil, []string{"not of codex"}},
		{"no JSON", map[string]string{own: "{"}, false, nil, []string{"is ignored"}},
		{
			"entries outside of the root",
			map[string]string{own: `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"../evil","sha256":"00"},{"path":"/etc/x","sha256":"00"},{"path":"","sha256":"00"},{"path":".","sha256":"00"},{"path":"a/../../b","sha256":"00"},{"path":"a/../b","sha256":"00"},{"path":"a\u0000b","sha256":"00"},{"path":"ok/x","sha256":"00"}]}`},
			true, []string{"ok/x"}, []string{"../evil", "/etc/x", `""`, `"."`, "a/../../b", "a/../b", `a\x00b`},
		},
		{
			"entries of git's files",
			map[string]string{own: `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":".git/config","sha256":"00"},{"path":"sub/.GIT/HEAD","sha256":"00"},{"path":".git","sha256":"00"},{"path":".agentpack/x","sha256":"00"},{"path":".github/x","sha256":"00"}]}`},
			true, []string{".github/x"}, []string{".git/config", "sub/.GIT/HEAD", `".git"`, ".agentpack/x"},
		},
		{
			"entries of agentpack's own files",
			map[string]string{own: `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":".agentpack.manifest.codex.json","sha256":"00"},{"path":"sub/.agentpack.manifest.zed.json","sha256":"00"},{"path":".agentpack-tmp-1","sha256":"00"}]}`},
			true, nil, []string{".agentpack.manifest.codex.json", "zed.json", ".agentpack-tmp-1"},
		},
		{
			"a duplicate entry", map[string]string{own: `{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"a","sha256":"00"},{"path":"./a","sha256":"00"}]}`},
			true, []string{"a"}, nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			got, warnings := output.ReadManifests([]output.Root{{Target: "codex", Path: dir}})
			var files []string
			for _, entry := range got[0].Files {
				files = append(files, entry.Path)
			}
			if diff := cmp.Diff(test.want, files); got[0].Usable != test.usable || diff != "" {
				t.Errorf("usable %t (-want +got)\n%s", got[0].Usable, diff)
			}
			if len(warnings) != len(test.warnings) {
				t.Fatalf("got %q", warnings)
			}
			for i, want := range test.warnings {
				if !strings.Contains(warnings[i], want) {
					t.Errorf("got %q, want %q", warnings[i], want)
				}
			}
		})
	}
}

func TestManifestRoundTrip(t *testing.T) {
	root := output.Root{Target: "codex", Path: t.TempDir()}
	var b output.Builder
	b.AddRoot(root)
	b.AddRoot(output.Root{Target: "codex", Path: filepath.Join(root.Path, "prompts")})
	for path, module := range map[string]string{"z/y.md": "m", "AGENTS.md": "n", "prompts/p.md": "o"} {
		if err := b.Add(output.Key{Target: "codex", Path: filepath.Join(root.Path, path)}, []byte(path), output.Origin{Module: module}); err != nil {
			t.Fatal(err)
		}
	}
	manifest := output.NewManifest(b.State(), root, "17", time.Date(2026, 2, 1, 9, 0, 0, 120_000_000, time.UTC))
	want := output.Manifest{
		SchemaVersion: 1, GeneratedAt: "2026-02-01T09:00:00.12Z", Tool: "codex", SnapshotID: "17",
		Files: []output.ManifestEntry{
			{Path: "AGENTS.md", SHA256: digest.Hex([]byte("AGENTS.md")), Modules: []string{"n"}},
			{Path: "z/y.md", SHA256: digest.Hex([]byte("z/y.md")), Modules: []string{"m"}},
		},
	}
	if diff := cmp.Diff(want, manifest); diff != "" {
		t.Errorf("what lies in a deeper root is not listed (-want +got)\n%s", diff)
	}
	text, err := manifest.Encode()
	if err != nil {
		t.Fatal(err)
	}
	read, err := output.ParseManifest(text, "codex")
	if diff := cmp.Diff(&want, read); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

func TestEncodeRefusesManifestTooLargeToRead(t *testing.T) {
	long := output.Manifest{SchemaVersion: 1, Tool: "codex", Files: []output.ManifestEntry{{Path: strings.Repeat("a", 16<<20)}}}
	if _, err := long.Encode(); err == nil || !strings.Contains(err.Error(), "larger than 16 MiB") {
		t.Errorf("got %v", err)
	}
}

func TestManagedKeys(t *testing.T) {
	key := func(target, path string) output.Key { return output.Key{Target: target, Path: path} }
	last := func() ([]output.Key, error) {
		return []output.Key{key("zed", "/z"), key("codex", "/b"), key("codex", "/a")}, nil
	}
	dir := output.ManagedDir{Root: output.Root{Target: "codex", Path: "/r"}, Usable: true, Files: []output.ManifestEntry{{Path: "y"}, {Path: "x"}}}
	tests := []struct {
		name string
		dirs []output.ManagedDir
		want []output.Key
	}{
		{"manifests tell", []output.ManagedDir{dir}, []output.Key{key("codex", "/r/x"), key("codex", "/r/y")}},
		{"without entries in manifests, fallback returns the files of the requested targets", []output.ManagedDir{{Root: dir.Root, Usable: true}}, []output.Key{key("codex", "/a"), key("codex", "/b")}},
	}
	for _, test := range tests {
		got, err := output.ManagedKeys(test.dirs, []string{"codex"}, last)
		if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", test.name, err, diff)
		}
	}
}

func TestIsOwnFile(t *testing.T) {
	for name, want := range map[string]bool{
		".agentpack.manifest.json": true, ".agentpack.manifest.codex.json": true, ".agentpack.manifest.x.y.json": true,
		".agentpack-tmp-17": true, ".agentpack.manifest": false, "agentpack.manifest.json": false, "AGENTS.md": false,
	} {
		if got := output.IsOwnFile(name); got != want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

// FuzzReadManifests checks that all entries that ReadManifests returns are inside the root.
func FuzzReadManifests(f *testing.F) {
	f.Add([]byte(good))
	f.Add([]byte(`{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":[{"path":"../a","sha256":"00"},{"path":"a/./b","sha256":"00"},{"path":"a\u0000b","sha256":"00"}]}`))
	f.Add([]byte(`{"schema_version":1,"generated_at":"2026-02-01T09:00:00Z","tool":"codex","managed_files":null}`))
	dir := f.TempDir()
	root := output.Root{Target: "codex", Path: dir}
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(output.ManifestPath(root), text, 0o644); err != nil {
			t.Fatal(err)
		}
		got, warnings := output.ReadManifests([]output.Root{root})
		if !got[0].Usable && len(warnings) == 0 {
			t.Errorf("%q is ignored without a warning", text)
		}
		for _, entry := range got[0].Files {
			if path := got[0].Key(entry).Path; !contain.Below(dir, path) {
				t.Errorf("%q: %q resolves to %s", text, entry.Path, path)
			}
		}
	})
}
