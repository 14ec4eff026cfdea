package manager_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manager"
)

// shelf publishes packages to a new registry. Each package has the form "name@version: dependencies". shelf returns a
// manager for an empty project that uses the registry.
func shelf(t *testing.T, packages ...string) (string, *manager.Manager) {
	t.Helper()
	root, m := published(t)
	project := m.Project
	for i, line := range packages {
		spec, needs, _ := strings.Cut(line, ": ")
		at := strings.LastIndexByte(spec, '@')
		m.Project = filepath.Join(root, "sources", fmt.Sprint(i))
		text := fmt.Sprintf("name: '%s'\nversion: %s\ndescription: The package %s\nauthor: Jane\nkeywords: [shelf]\ndependencies: {%s}\nartifacts: {skills: [{name: s%d, path: s, description: d}]}\n", spec[:at], spec[at+1:], spec, needs, i)
		for name, text := range map[string]string{"aam.yaml": text, "s/SKILL.md": spec} {
			path := filepath.Join(m.Project, filepath.FromSlash(name))
			testenv.WriteFile(t, path, text)
		}
		if _, err := m.Publish(nil, "latest"); err != nil {
			t.Fatal(err)
		}
	}
	m.Project = project
	return root, m
}

// installed returns name@version for each installed package.
func installed(t *testing.T, m *manager.Manager) []string {
	t.Helper()
	listed, err := m.List()
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, p := range listed {
		all = append(all, p.Name+"@"+p.Version)
	}
	slices.Sort(all)
	return all
}

func TestInstall(t *testing.T) {
	stock := []string{"low@1.0.0", "low@1.2.0", "low@3.0.0-rc.1", "mid@1.0.0: low: ^1.0.0", "@top/one@1.0.0: mid: '*', low: '>=1.0.0'", "high@1.0.0: low: 3.0.0-rc.1",
		"round@1.0.0: trip: '*'", "trip@1.0.0: round: '*'", "lost@1.0.0: nowhere: '*'"}
	tests := []struct {
		name     string
		before   []string // the specs that the test installs first
		packages []string
		force    bool
		want     []string // the packages that are installed afterwards, or the code of the expected error
		failed   []string
		resolved int
	}{
		{"the highest version, including pre-releases", nil, []string{"low"}, false, []string{"low@3.0.0-rc.1"}, nil, 1},
		{"the highest allowed version", nil, []string{"low@^1.0.0"}, false, []string{"low@1.2.0"}, nil, 1},
		{"with dependencies", nil, []string{"mid"}, false, []string{"low@1.2.0", "mid@1.0.0"}, nil, 2},
		{"the first requester decides", nil, []string{"mid", "high"}, false, []string{"AAM_DEPENDENCY_CONFLICT"}, nil, 0},
		{"a dependency cycle", nil, []string{"round"}, false, []string{"round@1.0.0", "trip@1.0.0"}, nil, 2},
		{"only a package with a missing dependency fails", nil, []string{"lost", "mid"}, false, []string{"low@1.2.0", "mid@1.0.0"}, []string{"lost AAM_PACKAGE_NOT_FOUND"}, 2},
		{"failures are in the order of the request", nil, []string{"gone", "BAD", "low@tag"}, false, []string{}, []string{"gone AAM_PACKAGE_NOT_FOUND", "BAD AAM_INVALID_ARGUMENT", "low@tag AAM_INVALID_ARGUMENT"}, 0},
		{"an installed version is kept for any request", []string{"low@1.0.0"}, []string{"low@1.2.0"}, false, []string{"low@1.0.0"}, nil, 0},
		{"unless forced", []string{"low@1.0.0"}, []string{"low@1.2.0"}, true, []string{"low@1.2.0"}, nil, 1},
		{"an installed dependency is kept", []string{"low@1.0.0"}, []string{"mid"}, false, []string{"low@1.0.0", "mid@1.0.0"}, nil, 2},
		{"an installed dependency that is not allowed is replaced", []string{"low@3.0.0-rc.1"}, []string{"mid"}, false, []string{"low@1.2.0", "mid@1.0.0"}, nil, 2},
		{"an installed dependency of another package is not replaced", []string{"mid"}, []string{"high"}, false, []string{"AAM_DEPENDENCY_CONFLICT"}, nil, 0},
		{"an installed dependency of another package is replaced by force", []string{"mid"}, []string{"high"}, true, []string{"high@1.0.0", "low@3.0.0-rc.1", "mid@1.0.0"}, nil, 2},
		{"a duplicate request", nil, []string{"low@1.0.0", "low@1.0.0"}, false, []string{"low@1.0.0"}, nil, 1},
		{"a package and its dependency, both requested", nil, []string{"mid", "low@^1.0.0"}, false, []string{"low@1.2.0", "mid@1.0.0"}, nil, 2},
	}
	root, m := shelf(t, stock...)
	for i, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m.Project = filepath.Join(root, "projects", fmt.Sprint(i))
			if err := os.MkdirAll(filepath.Join(m.Project, ".aam"), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, spec := range test.before {
				if _, err := m.Install(manager.Request{Packages: []string{spec}}); err != nil {
					t.Fatal(err)
				}
			}
			before := installed(t, m)
			result, err := m.Install(manager.Request{Packages: test.packages, Force: test.force})
			if len(test.want) == 1 && strings.HasPrefix(test.want[0], "AAM_") {
				if got := fault.From(err); got == nil || string(got.Code) != test.want[0] || !cmp.Equal(before, installed(t, m)) {
					t.Errorf("got %v and %v", err, installed(t, m))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, installed(t, m)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			var failed []string
			for _, f := range result.Failed {
				failed = append(failed, f.Package+" "+string(f.Code))
			}
			if diff := cmp.Diff(test.failed, failed); diff != "" || result.DependenciesResolved != test.resolved {
				t.Errorf("failed (-want +got)\n%s%d resolved, want %d", diff, result.DependenciesResolved, test.resolved)
			}
		})
	}
}

func TestSearch(t *testing.T) {
	root, m := shelf(t, "alpha@1.0.0", "alpha@0.9.0", "beta-alpha@1.0.0")
	tests := []struct {
		name, query, kind string
		limit             int
		want              []string
	}{
		{"the best match first, with the version that was published last", "alpha", "", 10, []string{"alpha@0.9.0", "beta-alpha@1.0.0"}},
		{"a whole keyword", "SHELF", "", 10, []string{"alpha@0.9.0", "beta-alpha@1.0.0"}},
		{"a limit", "alpha", "", 1, []string{"alpha@0.9.0"}},
		{"a type", "", "prompt", 10, []string{"pkg@1.0.0"}},
		{"a type without packages", "", "agent", 10, []string{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, err := m.Search(test.query, test.limit, test.kind)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{}
			for _, f := range found {
				got = append(got, f.Name+"@"+f.Version)
				if f.Name == "alpha" && (*f.Author != "Jane" || !cmp.Equal(f.ArtifactTypes, []string{"skill"}) || f.Registry != "r" || f.Description != "The package alpha@0.9.0") {
					t.Errorf("got %+v", f)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if err := os.RemoveAll(filepath.Join(root, "registry")); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Search("", 10, ""); fault.From(err) == nil || fault.From(err).Code != fault.RegistryUnreachable || !strings.Contains(err.Error(), "'r'") {
		t.Errorf("Search in a registry that does not exist: got %v", err)
	}
}

func TestInfo(t *testing.T) {
	_, m := shelf(t, "low@1.0.0", "low@1.2.0", "mid@1.0.0: low: ^1.0.0")
	if _, err := m.Install(manager.Request{Packages: []string{"low@1.0.0"}}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, pack, version string
		want                string // the version, whether the package is installed, and the installed version; or the code of the expected error
	}{
		{"installed packages have precedence", "low", "", "1.0.0 true 1.0.0"},
		{"an equal version in another spelling", "low", "v1.0", "1.0.0 true 1.0.0"},
		{"another version is found in registries", "low", "1.2.0", "1.2.0 true 1.0.0"},
		{"a package that is not installed", "mid", "", "1.0.0 false "},
		{"an unknown version", "low", "9.9.9", "AAM_PACKAGE_NOT_FOUND"},
		{"an unknown package", "nope", "", "AAM_PACKAGE_NOT_FOUND"},
		{"an invalid name", "BAD", "", "AAM_INVALID_ARGUMENT"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			detail, err := m.Info(test.pack, test.version)
			got := ""
			if err != nil {
				got = string(fault.From(err).Code)
			} else {
				got = fmt.Sprint(detail.Version, " ", detail.Installed, " ")
				if detail.InstalledVersion != nil {
					got += *detail.InstalledVersion
				}
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestInfoRefusesArchiveOfAnotherPackage checks that Info refuses an archive whose manifest has another name or version
// than the release.
func TestInfoRefusesArchiveOfAnotherPackage(t *testing.T) {
	root, m := shelf(t, "low@1.0.0", "low@2.0.0", "high@1.0.0")
	archive := func(name, version string) string {
		return filepath.Join(root, "registry", "packages", name, "versions", version+".aam")
	}
	if err := os.MkdirAll(filepath.Join(m.Project, ".aam"), 0o755); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(m.Home, ".aam", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Info must detect the mismatch even if it does not verify checksums.
	if err := os.WriteFile(filepath.Join(m.Home, ".aam", "config.yaml"), append(config, "security: {require_checksum: false}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"of another package": archive("high", "1.0.0"), "of another version": archive("low", "1.0.0")} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(from)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(archive("low", "2.0.0"), data, 0o644); err != nil {
				t.Fatal(err)
			}
			detail, err := m.Info("low", "2.0.0")
			if failure := fault.From(err); failure == nil || failure.Code != fault.ArchiveInvalid {
				t.Errorf("got %+v, %v", detail, err)
			}
		})
	}
}
