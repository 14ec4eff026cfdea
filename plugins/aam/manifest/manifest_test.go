package manifest_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

const minimal = "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts:\n  skills:\n  - {name: s1, path: skills/s1/, description: d}\n"

func TestParse(t *testing.T) {
	long := strings.Repeat("é", 256)
	tests := []struct {
		name, text string
		want       string // all expected problems, one per line; "" for a valid manifest
	}{
		{"several problems at once", "name: BAD\nversion: zz\n", `name: package name "BAD": name "BAD" must match ^[a-z0-9][a-z0-9-]{0,63}$
version: "zz" is not a version: write MAJOR.MINOR.PATCH, such as 1.2.3 or 1.2.3-rc.1
description: field required
artifacts: field required`},
		{"a version that is a number", strings.Replace(minimal, "1.0.0", "1.0", 1), "version: must be a string, not a number: quote it"},
		{"a description of 257 characters", strings.Replace(minimal, "description: d\n", "description: "+long+"x\n", 1), "description: has 257 characters, at most 256 are allowed"},
		{"an absolute path", strings.Replace(minimal, "skills/s1/", "/etc/x", 1), `artifacts.skills.0.path: must be relative to the package: "/etc/x"`},
		{"a path with dots", strings.Replace(minimal, "skills/s1/", "skills/../../x", 1), `artifacts.skills.0.path: must not have the element '..': "skills/../../x"`},
		{"no artifacts", "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts: {}", ": at least one artifact must be declared"},
		{"keywords that are a string", minimal + "keywords: audit", "keywords: must be a list, not a string"},
		{"a platform that is null", minimal + "platforms: {cursor: }", "platforms.cursor: must be a mapping, not null"},
		{"dependencies that are null", minimal + "dependencies:", "dependencies: must be a mapping, not null"},
		{"a description of 256 characters", strings.Replace(minimal, "description: d\n", "description: "+long+"\n", 1), ""},
		{"a version with v", strings.Replace(minimal, "1.0.0", "v1.0.0", 1), ""},
		{"the package's directory as artifact", strings.Replace(minimal, "skills/s1/", ".", 1), ""},
		{"unknown keys", minimal + "scripts: {a: b}\nfile_checksums: {}", ""},
		{"one name with two types", minimal + "  agents:\n  - {name: s1, path: a, description: d}\n", ""},
		{"a byte-order mark", "\ufeff" + minimal, ""},
		{"an artifact that is a string", "name: p\nversion: '1'\ndescription: d\nartifacts: {skills: [x]}", "artifacts.skills.0: must be a mapping, not a string"},
		{"dependencies", minimal + "dependencies: {Bad: '*', a: latest, b: 1.0, c: ^1.0.0}", `dependencies: package name "Bad": name "Bad" must match ^[a-z0-9][a-z0-9-]{0,63}$
dependencies: a: constraint "latest": "latest" is not a version: write MAJOR.MINOR.PATCH, such as 1.2.3 or 1.2.3-rc.1
dependencies.b: must be a string, not a number: quote it`},
		{"fields that are only validated", minimal + "quality: {tests: [{name: t}], evals: [x]}\nprovenance: {source_type: svn, source_url: 3}", `quality.tests.0.command: field required
quality.tests.0.description: field required
quality.evals.0: must be a mapping, not a string
provenance.source_type: must be 'git' or 'local'
provenance.source_url: must be a string, not an integer: quote it`},
		{"a path with a line break", strings.Replace(minimal, "skills/s1/", `"a\nb"`, 1), `artifacts.skills.0.path: must not have control characters: "a\nb"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := ""
			if _, err := manifest.Parse([]byte(test.text)); err != nil {
				var problems yaml11.Problems
				if !errors.As(err, &problems) {
					t.Fatalf("got %T: %v", err, err)
				}
				got = join(problems)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func join(problems yaml11.Problems) string {
	var lines []string
	for _, problem := range problems {
		lines = append(lines, problem.String())
	}
	return strings.Join(lines, "\n")
}

func TestManifest(t *testing.T) {
	m, err := manifest.Parse([]byte(`name: '@a/b'
version: 1.0.0-rc.1
description: All of it
author: Jane
keywords: [x, y]
artifacts:
  instructions: [{name: i, path: i.md, description: ''}]
  skills: [{name: s, path: s, description: S}, {name: s2, path: s2, description: S}]
  agents: [{name: a, path: a, description: A}]
dependencies: {z: '*', c: ^1.0.0}
platforms: {cursor: {skill_scope: user, merge_instructions: 'yes'}, vscode: {}}
`))
	if err != nil {
		t.Fatal(err)
	}
	author := "Jane"
	want := &manifest.Manifest{
		Name: "@a/b", Version: "1.0.0-rc.1", Description: "All of it", Author: &author, Keywords: []string{"x", "y"},
		Artifacts:    []manifest.Artifact{{manifest.Agent, "a", "a", "A"}, {manifest.Skill, "s", "s", "S"}, {manifest.Skill, "s2", "s2", "S"}, {manifest.Instruction, "i", "i.md", ""}},
		Dependencies: []manifest.Dependency{{"z", "*"}, {"c", "^1.0.0"}},
		Platforms:    []manifest.Platform{{"cursor", "user", "rules", true}, {"vscode", "project", "rules", false}},
	}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(manifest.Counts{1, 2, 0, 1}, m.Counts()); diff != "" {
		t.Errorf("counts (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]manifest.Type{manifest.Agent, manifest.Skill, manifest.Instruction}, m.Types()); diff != "" {
		t.Errorf("types (-want +got)\n%s", diff)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := manifest.Load(files.Disk{}, dir); fault.From(err).Code != fault.ManifestNotFound || !strings.HasPrefix(err.Error(), "No aam.yaml found at "+dir) {
		t.Errorf("Load of a file that does not exist: got %v", err)
	}
	path := filepath.Join(dir, "aam.yaml")
	for _, test := range []struct{ text, want string }{{minimal, ""}, {"a: [", "line 2"}, {"a: 1", "name: field required"}, {strings.Repeat("#", manifest.MaxSize+1), "too large"}} {
		if err := os.WriteFile(path, []byte(test.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := manifest.Load(files.Disk{}, dir)
		if test.want == "" && err != nil || test.want != "" && (err == nil || fault.From(err).Code != fault.ManifestInvalid || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("got %v, want %q", err, test.want)
		}
	}
}

// TestLoadRefusesSymlinkOutOfPackage checks that Load refuses a manifest that is a symbolic link to a file outside of
// the package.
func TestLoadRefusesSymlinkOutOfPackage(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "secret.yaml"), []byte(minimal), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "pkg")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join("..", "secret.yaml"), filepath.Join(dir, "aam.yaml")); err != nil {
		t.Fatal(err)
	}
	if m, err := manifest.Load(files.Disk{}, dir); !errors.Is(err, contain.ErrOutside) || fault.From(err).Code != fault.ManifestInvalid {
		t.Errorf("got %+v, %v", m, err)
	}
}

func TestParseAgent(t *testing.T) {
	spec, err := manifest.ParseAgent([]byte("name: r\ndescription: d\nsystem_prompt: p.md\nversion: 1.0.0\nskills: [a]\nprompts: []\ntools: [x]\nparameters: {t: 0.5, on: true, w: x, n: 3}\n"))
	want := manifest.AgentSpec{Name: "r", Description: "d", SystemPrompt: "p.md", Skills: []string{"a"}, Prompts: []string{}}
	if diff := cmp.Diff(want, spec); err == nil || diff == "" {
		t.Errorf("ParseAgent with a boolean as the name of a parameter: got %+v, %v", spec, err)
	}
	spec, err = manifest.ParseAgent([]byte("name: r\ndescription: d\nsystem_prompt: p.md\nskills: [a]\nparameters: {t: 0.5, 'on': true, w: x, n: 3}\n"))
	if diff := cmp.Diff(want, spec); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	_, err = manifest.ParseAgent([]byte("name: r\ndescription: 1\nparameters: {t: [1]}\n"))
	wantErr := "description: must be a string, not an integer: quote it; system_prompt: field required; parameters.t: must be a string, a number or a boolean, not a list"
	if err == nil || err.Error() != wantErr {
		t.Errorf("got  %v\nwant %s", err, wantErr)
	}
}

// TestRecordedCases compares whether Parse accepts a file, and the locations of problems, with the recorded results of
// the aam program.
func TestRecordedCases(t *testing.T) {
	var rows []struct {
		ID     string
		Text   *string `json:"aam.yaml"`
		Report struct {
			Name   *string `json:"package_name"`
			Errors []string
		}
	}
	realdata.Recorded(t, "validate-cases.json", &rows)
	for _, row := range rows {
		if row.Text == nil {
			continue
		}
		t.Run(row.ID, func(t *testing.T) {
			m, err := manifest.Parse([]byte(*row.Text))
			if row.Report.Name != nil {
				if err != nil || m.Name != *row.Report.Name {
					t.Errorf("got %+v, %v", m, err)
				}
				return
			}
			var want, got []string
			for _, text := range row.Report.Errors {
				at, _, _ := strings.Cut(text, ":")
				want = append(want, at)
			}
			var problems yaml11.Problems
			if errors.As(err, &problems) {
				for _, problem := range problems {
					got = append(got, problem.At)
				}
			} else if syntax := new(yaml11.SyntaxError); errors.As(err, &syntax) {
				got = []string{"Failed to parse aam.yaml"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%v (-want +got)\n%s", err, diff)
			}
		})
	}
}

// TestRealManifests checks that the sample manifests and agents are valid if and only if the aam program accepts them.
func TestRealManifests(t *testing.T) {
	var origins struct {
		Files []struct {
			File    string
			Verdict *struct{ Accepted bool }
		}
	}
	if err := json.Unmarshal(realdata.Read(t, "from-repo", "ORIGINS.json"), &origins); err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, origin := range origins.Files {
		folder, _, _ := strings.Cut(origin.File, "/")
		if origin.Verdict == nil || folder != "manifests" && folder != "agents" {
			continue
		}
		count++
		data := realdata.Read(t, "from-repo", origin.File)
		_, err := manifest.Parse(data)
		if folder == "agents" {
			_, err = manifest.ParseAgent(data)
		}
		if (err == nil) != origin.Verdict.Accepted {
			t.Errorf("%s: got %v, want accepted: %t", origin.File, err, origin.Verdict.Accepted)
		}
	}
	if count < 15 {
		t.Errorf("only %d files were read", count)
	}
}

// FuzzParse checks that a valid manifest has the properties on which other packages rely.
func FuzzParse(f *testing.F) {
	f.Add([]byte(minimal))
	f.Add([]byte(minimal + "dependencies: {a: ^1.0.0}\nplatforms: {cursor: {merge_instructions: 1}}\nkeywords: [a]\nquality: {tests: []}\n"))
	f.Add([]byte("artifacts: &a {skills: [*a]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := manifest.Parse(data)
		if err != nil {
			return
		}
		if len(m.Artifacts) == 0 || m.Name == "" || strings.ContainsAny(m.Version, "/\\") {
			t.Fatalf("%q: %+v", data, m)
		}
		for _, a := range m.Artifacts {
			if a.Path != "" && !filepath.IsLocal(filepath.Clean(a.Path)) || a.Name == "" || a.Type == "" {
				t.Fatalf("%q: %+v", data, a)
			}
		}
	})
}
