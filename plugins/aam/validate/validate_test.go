package validate_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/validate"
)

// parsed excludes the field Manifest from comparisons, because the other fields cover its content.
var parsed = cmpopts.IgnoreTypes(&manifest.Manifest{})

func report(t *testing.T, path string) validate.Report {
	t.Helper()
	got, err := validate.Package(files.Disk{}, path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

const minimal = "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts:\n  skills:\n  - {name: s1, path: skills/s1/, description: d}\n"

func TestPackage(t *testing.T) {
	name, version := "pkg", "1.0.0"
	tests := []struct {
		name  string
		files map[string]string
		want  validate.Report
	}{
		{"valid without an author", map[string]string{"aam.yaml": minimal, "skills/s1/SKILL.md": ""},
			validate.Report{Valid: true, PackageName: &name, PackageVersion: &version, Errors: []string{}, Warnings: []string{"author: not set (optional)"}, ArtifactCount: 1, ArtifactsValid: true}},
		{"a skill without SKILL.md", map[string]string{"aam.yaml": minimal + "author: J\n", "skills/s1/x": ""},
			validate.Report{Valid: true, PackageName: &name, PackageVersion: &version, Errors: []string{}, Warnings: []string{}, ArtifactCount: 1, ArtifactsValid: true}},
		{"an absent artifact", map[string]string{"aam.yaml": minimal + "author: J\n"},
			validate.Report{PackageName: &name, PackageVersion: &version, Errors: []string{"Artifact path 'skills/s1/' does not exist"}, Warnings: []string{}, ArtifactCount: 1}},
		{"an artifact that is never packed", map[string]string{"aam.yaml": strings.Replace(minimal, "skills/s1/", "s/Credentials.yaml", 1) + "author: J\n", "s/Credentials.yaml": "token: x"},
			validate.Report{PackageName: &name, PackageVersion: &version, Errors: []string{"Artifact path 's/Credentials.yaml' is never packed…"}, Warnings: []string{}, ArtifactCount: 1}},
		{"an instruction with a deployed section", map[string]string{"aam.yaml": strings.NewReplacer("skills:", "instructions:", "skills/s1/", "CLAUDE.md").Replace(minimal) + "author: J\n", "CLAUDE.md": "Mine\n\n<!-- BEGIN AAM: x instruction -->\nx\n<!-- END AAM: x instruction -->\n"},
			validate.Report{PackageName: &name, PackageVersion: &version, Errors: []string{"Artifact path 'CLAUDE.md' contains section markers…"}, Warnings: []string{}, ArtifactCount: 1}},
		{"a prompt that is the package", map[string]string{"aam.yaml": strings.NewReplacer("skills:", "prompts:", "skills/s1/", ".").Replace(minimal) + "author: J\n"},
			validate.Report{PackageName: &name, PackageVersion: &version, Errors: []string{"Artifact path '.' is a directory…"}, Warnings: []string{}, ArtifactCount: 1}},
		{"an instruction without a path", map[string]string{"aam.yaml": strings.NewReplacer("skills:", "instructions:", "skills/s1/", "''").Replace(minimal) + "author: J\n"},
			validate.Report{PackageName: &name, PackageVersion: &version, Errors: []string{"Artifact path '' is a directory…"}, Warnings: []string{}, ArtifactCount: 1}},
		{"several fields are wrong", map[string]string{"aam.yaml": "name: BAD\nversion: zz\n"},
			validate.Report{Errors: []string{"name: …", "version: …", "description: field required", "artifacts: field required"}, Warnings: []string{}}},
		{"no YAML", map[string]string{"aam.yaml": "name: [unterminated\n"},
			validate.Report{Errors: []string{"YAML parse error: …"}, Warnings: []string{}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := report(t, testenv.Tree(t, test.files))
			for i, text := range test.want.Errors {
				if begin, ok := strings.CutSuffix(text, "…"); ok && i < len(got.Errors) && strings.HasPrefix(got.Errors[i], begin) {
					got.Errors[i] = text
				}
			}
			if diff := cmp.Diff(test.want, got, parsed); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestPaths(t *testing.T) {
	dir := testenv.Tree(t, map[string]string{"aam.yaml": minimal, "skills/s1/SKILL.md": ""})
	if got := report(t, filepath.Join(dir, "aam.yaml")); !got.Valid {
		t.Errorf("a file of the package: got %+v", got)
	}
	for _, path := range []string{filepath.Join(dir, "skills"), filepath.Join(dir, "gone")} {
		got := report(t, path)
		want := "No aam.yaml found at " + filepath.Join(path, "aam.yaml")
		if got.Valid || got.ArtifactsValid || len(got.Errors) != 1 || got.Errors[0] != want {
			t.Errorf("no manifest: got %+v", got)
		}
	}
}

type refusing struct{ files.System }

func (refusing) Stat(path string) (fs.FileInfo, error) {
	return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrPermission}
}

func TestPackageReportsPermissionError(t *testing.T) {
	if _, err := validate.Package(refusing{files.Disk{}}, t.TempDir()); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

// TestRecordedCases compares each report with the recorded report. It compares only the locations in messages, because
// the wording differs.
func TestRecordedCases(t *testing.T) {
	var cases []struct {
		ID       string          `json:"id"`
		Manifest *string         `json:"aam.yaml"`
		Others   []string        `json:"other_files"`
		Report   json.RawMessage `json:"report"`
	}
	realdata.Recorded(t, "validate-cases.json", &cases)
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			contents := map[string]string{}
			for _, name := range c.Others {
				contents[name] = ""
			}
			if c.Manifest != nil {
				contents["aam.yaml"] = *c.Manifest
			}
			got := report(t, testenv.Tree(t, contents))
			var want validate.Report
			if err := json.Unmarshal(c.Report, &want); err != nil {
				t.Fatal(err)
			}
			want.Errors, got.Errors = places(want.Errors), places(got.Errors)
			if diff := cmp.Diff(want, got, parsed); diff != "" {
				t.Errorf("(-recorded +got)\n%s", diff)
			}
		})
	}
}

var artifactPath = regexp.MustCompile(`^(?:Artifact path '(.*)' does not exist|(.*): file not found)$`)

// places returns the locations in messages.
func places(texts []string) []string {
	about := []string{}
	for _, text := range texts {
		place, _, _ := strings.Cut(text, ":")
		switch {
		case strings.HasPrefix(text, "No aam.yaml found"):
			place = "no manifest"
		case strings.HasPrefix(text, "YAML parse error: "), strings.HasPrefix(text, "Failed to parse aam.yaml: "):
			place = "no YAML"
		case artifactPath.MatchString(text):
			place = strings.Join(artifactPath.FindStringSubmatch(text)[1:], "")
		}
		about = append(about, place)
	}
	return about
}

func TestRealPackages(t *testing.T) {
	for name, count := range map[string]int{"sample-pkg": 1, "code-review-toolkit": 5} {
		got := report(t, realdata.Path(t, "from-repo", "packages", name))
		if !got.Valid || got.ArtifactCount != count || len(got.Errors)+len(got.Warnings) > 0 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
