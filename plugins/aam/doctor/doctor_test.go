package doctor_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/doctor"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
)

const (
	manifestText = "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts: {prompts: [{name: p, path: p.md, description: d}]}\n"
	lockText     = "packages:\n  pkg: {version: 1.0.0, source: r, checksum: 'sha256:00'}\n"
)

// run creates a project and a home directory with the given files, and returns the report about them. In the contents
// of files, ROOT stands for the directory that contains both directories.
func run(t *testing.T, contents map[string]string) doctor.Report {
	t.Helper()
	root := t.TempDir()
	for name, text := range contents {
		path := filepath.Join(root, filepath.FromSlash(name))
		text = strings.ReplaceAll(text, "ROOT", root)
		testenv.WriteFile(t, path, text)
	}
	home := filepath.Join(root, "home")
	if _, without := contents["no home"]; without {
		home = ""
	}
	return doctor.Run(&workspace.Workspace{Files: files.Disk{}, Project: filepath.Join(root, "project"), Home: home})
}

func TestRun(t *testing.T) {
	healthy := map[string]string{
		"home/.aam/config.yaml":              "registries: [{name: r, url: 'file://ROOT/r'}]\n",
		"r/registry.yaml":                    "",
		"project/.aam/config.yaml":           "default_platform: claude\n",
		"project/.aam/aam-lock.yaml":         lockText,
		"project/.aam/packages/pkg/aam.yaml": manifestText,
	}
	tests := []struct {
		name    string
		change  map[string]string // changes of the files of a healthy project; the content "-" removes a file
		want    []string          // the name, the status, and a substring of the message of each check that does not pass
		healthy bool
	}{
		{"no problems", nil, nil, true},
		{"no project configuration", map[string]string{"project/.aam/config.yaml": "-"}, []string{"project_config warn not found"}, true},
		{"no global configuration", map[string]string{"home/.aam/config.yaml": "-"}, nil, true},
		{"a configuration that is not YAML", map[string]string{"home/.aam/config.yaml": "a: ["}, []string{"global_config fail invalid YAML", "config_valid fail home/.aam/config.yaml"}, false},
		{"a configuration with one error", map[string]string{"project/.aam/config.yaml": "default_platform: 1"}, []string{"project_config fail 1 validation error)", "config_valid fail project/.aam/config.yaml"}, false},
		{"an unknown home", map[string]string{"no home": ""}, []string{"global_config warn unknown"}, true},
		{"a registry without its directory", map[string]string{"r/registry.yaml": "-"}, []string{"registry_r warn /r"}, true},
		{"a registry with an invalid URL", map[string]string{"home/.aam/config.yaml": "registries: [{name: r, url: 'nowhere'}]\n"}, []string{"registry_r warn without a directory"}, true},
		{"an HTTP registry", map[string]string{"home/.aam/config.yaml": "registries: [{name: r, url: 'https://r', type: http}]\n"}, nil, true},
		{"a package without its directory", map[string]string{"project/.aam/packages/pkg/aam.yaml": "-"}, []string{"package_pkg warn directory not found", "packages_integrity warn 1 package without"}, true},
		{"a package with an invalid manifest", map[string]string{"project/.aam/packages/pkg/aam.yaml": "name: BAD"}, []string{"package_pkg warn manifest error", "packages_integrity warn 1 package without"}, true},
		{"a package without a checksum", map[string]string{"project/.aam/aam-lock.yaml": strings.Replace(lockText, "sha256:00", "", 1)}, []string{"packages_integrity warn 1 package without"}, true},
		{"a lock file that is not YAML", map[string]string{"project/.aam/aam-lock.yaml": "packages: ["}, []string{"packages_integrity fail aam-lock.yaml"}, false},
		{"an invalid ledger", map[string]string{"project/.aam/deployments.yaml": "packages: {pkg: 1}"}, []string{"packages_integrity fail deployments.yaml"}, false},
		{"a deployment of an uninstalled package", map[string]string{
			"project/.aam/deployments.yaml": "packages: {gone: [{platform: cursor, type: prompt, name: p}, {platform: cursor, type: prompt, name: absent}]}",
			"project/.cursor/prompts/p.md":  "x",
		}, []string{"orphaned_deployments warn install of 'gone', but not part of any installed package: .cursor/prompts/p.md"}, true},
		{"a section of no package", map[string]string{"project/CLAUDE.md": "<!-- BEGIN AAM: x instruction -->\n<!-- END AAM: x instruction -->\n"},
			[]string{"orphaned_deployments warn Sections that belong to no installed package: CLAUDE.md (instruction x)"}, true},
		{"a staged package", map[string]string{"project/.aam/.tmp/partial-pkg/aam.yaml": ""}, []string{"incomplete_install warn partial-pkg"}, true},
		{"a download", map[string]string{"project/.aam/packages/.downloads/1.0.0.aam": ""}, []string{"incomplete_install warn 1.0.0.aam"}, true},
		{"a package directory that is not in the lock file", map[string]string{"project/.aam/packages/other/x": ""}, []string{"incomplete_install warn other"}, true},
		{"an interrupted transaction", map[string]string{"project/.aam/.tmp/switching.json": "{}"}, []string{"incomplete_install warn interrupted"}, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			contents := map[string]string{}
			for name, text := range healthy {
				contents[name] = text
			}
			for name, text := range test.change {
				if contents[name] = text; text == "-" {
					delete(contents, name)
				}
			}
			report := run(t, contents)
			var got []string
			passed, warned := 0, 0
			for _, check := range report.Checks {
				switch check.Status {
				case doctor.Pass:
					passed++
					continue
				case doctor.Warn:
					warned++
				case doctor.Fail:
					if check.Suggestion == nil {
						t.Errorf("the failed check %s has no suggestion", check.Name)
					}
				}
				line := check.Name + " " + check.Status
				for _, want := range test.want {
					if part, ok := strings.CutPrefix(want, line+" "); ok && strings.Contains(check.Message, part) {
						line = want
					}
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s\n%+v", diff, report.Checks)
			}
			if report.Healthy != test.healthy {
				t.Errorf("Report.Healthy is %t", report.Healthy)
			}
			plural := "s"
			if warned == 1 {
				plural = ""
			}
			if want := fmt.Sprintf("%d passed, %d warning%s, %d failed", passed, warned, plural, len(report.Checks)-passed-warned); report.Summary != want {
				t.Errorf("summary: got %s, want %s", report.Summary, want)
			}
		})
	}
}

// TestAdviceForPackagesOfNoRegistry checks the advice for packages that the command line has installed from a
// directory, an archive or a git repository. aam_install cannot repair these packages.
func TestAdviceForPackagesOfNoRegistry(t *testing.T) {
	const local, manifest = "packages:\n  pkg: {version: 1.0.0, source: local, checksum: ''}\n", "project/.aam/packages/pkg/aam.yaml"
	tests := []struct{ name, lock, manifest, want string }{
		{"a directory", local, manifestText, "no repair is needed"},
		{"a missing package directory", local, "-", "aam install PATH --force"},
		{"a git source", strings.Replace(local, "local", "source", 1), manifestText, "aam install pkg --force"},
		{"a registry", strings.Replace(local, "local", "team", 1), manifestText, "with aam_install and force"},
		{"a registry with the name local", strings.Replace(local, "''", "'sha256:00'", 1), "-", "with aam_install and force"},
	}
	for _, test := range tests {
		contents := map[string]string{"project/.aam/aam-lock.yaml": test.lock, "project/.aam/config.yaml": "", manifest: test.manifest}
		if test.manifest == "-" {
			delete(contents, manifest)
		}
		advice := ""
		for _, check := range run(t, contents).Checks {
			if check.Name == "packages_integrity" && check.Suggestion != nil {
				advice = *check.Suggestion
			}
		}
		if !strings.Contains(advice, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, advice, test.want)
		}
	}
}

func TestRunNamesAtMostFiveLeftovers(t *testing.T) {
	contents := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		contents["project/.aam/.tmp/"+name] = ""
	}
	report := run(t, contents)
	last := report.Checks[len(report.Checks)-1]
	if last.Message != "Found leftovers: a, b, c, d, e and 2 more" {
		t.Errorf("got %s", last.Message)
	}
}
