package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

const start = "version: 1\nprofiles: {default: {include_tags: [base]}}\n"

func TestParseManifest(t *testing.T) {
	got, err := config.ParseManifest([]byte(start + `
unknown: {x: 1}
targets:
  zed: {mode: files, scope: both}
  codex: {mode: files, scope: user, options: {codex_home: " ~/c ", on: "yes", off: 0, odd: maybe}, extra: 1}
modules:
  - {id: "skill:a", type: skill, tags: [base, x], source: {local_path: {path: modules/a}}, metadata: {owner: me}}
  - {id: "p", type: prompt, enabled: false, targets: [codex], source: {git: {url: "https://git.example/a.git", shallow: false}}}
  - {id: "q", type: prompt, source: {git: {url: u, ref: v1, subdir: s}, local_path: null}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]config.Module{
		{ID: "skill:a", Type: config.Skill, Enabled: true, Tags: []string{"base", "x"}, Local: &config.Local{Path: "modules/a"}},
		{ID: "p", Type: config.Prompt, Targets: []string{"codex"}, Git: &config.Git{URL: "https://git.example/a.git", Ref: "main"}},
		{ID: "q", Type: config.Prompt, Enabled: true, Git: &config.Git{URL: "u", Ref: "v1", Subdir: "s"}},
	}, got.Modules); diff != "" {
		t.Errorf("modules (-want +got)\n%s", diff)
	}
	codex, ok := got.Target(config.Codex)
	if !ok || len(got.Targets) != 2 || got.Targets[0].Name != config.Codex {
		t.Fatalf("ParseManifest returned the targets %+v", got.Targets)
	}
	if !codex.Scope.User() || codex.Scope.Project() || codex.Options.Text("codex_home") != "~/c" {
		t.Errorf("codex: got %+v", codex)
	}
	for option, want := range map[string][2]bool{"on": {true, true}, "off": {false, true}, "odd": {false, true}, "none": {false, true}} {
		for i, otherwise := range []bool{false, true} {
			if got := codex.Options.Bool(option, otherwise); got != want[i] {
				t.Errorf("the option %s with the default %t: got %t", option, otherwise, got)
			}
		}
	}
}

// TestPlainScalarsAreText checks that an unquoted number or boolean is a valid value of a key that requires a string.
func TestPlainScalarsAreText(t *testing.T) {
	got, err := config.ParseManifest([]byte(`%YAML 1.2
---
version: +1
profiles:
  default:
  2026: {include_tags: [b, 2026, 2026-01-01, true], include_modules: }
targets: {codex: {mode: files, scope: user, options: {1: 2, codex_home: 2026-01-01}}}
modules:
  - {id: 1.0, type: prompt, tags: [2026], source: {git: {url: 0x10, ref: 1.0, subdir: 01}}, metadata: {3: x}}
  - {id: ~, type: prompt, tags: , source: {local_path: {path: true}, git: ~}}
`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]config.Module{
		{ID: "1.0", Type: config.Prompt, Enabled: true, Tags: []string{"2026"}, Git: &config.Git{URL: "0x10", Ref: "1.0", Subdir: "01"}},
		{ID: "~", Type: config.Prompt, Enabled: true, Local: &config.Local{Path: "true"}},
	}, got.Modules); diff != "" {
		t.Errorf("modules (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "2026", "2026-01-01", "true"}, got.Profiles["2026"].IncludeTags); diff != "" {
		t.Error(diff)
	}
	if got := got.Targets[0].Options.Text("codex_home"); got != "2026-01-01" {
		t.Errorf("got %q", got)
	}
}

func TestParseManifestRefuses(t *testing.T) {
	module := func(text string) string { return start + "modules: [" + text + "]" }
	tests := []struct {
		name, text, says string
		code             fault.Code
	}{
		{"an empty file", "", "expected a map", fault.ConfigInvalid},
		{"a list", "[1]", "expected a map", fault.ConfigInvalid},
		{"truncated YAML", "version: [", "", fault.ConfigInvalid},
		{"two documents", start + "---\n" + start, "second document", fault.ConfigInvalid},
		{"no version", "profiles: {default: {}}", "version: expected an integer, got nothing", fault.ConfigInvalid},
		{"a version that is a string", "version: '1'", "version: expected an integer", fault.ConfigInvalid},
		{"a negative version", "version: -1", "version", fault.ConfigInvalid},
		{"another version", "version: 2", "only version 1", fault.ConfigUnsupportedVersion},
		{"a duplicate key", "version: 1\nversion: 1", "duplicate key", fault.ConfigInvalid},
		{"tags that are not a list", "version: 1\nprofiles: {default: {include_tags: base}}", "profiles.default.include_tags: expected a list", fault.ConfigInvalid},
		{"a list as id", module("{id: [5], type: prompt, source: {}}"), "modules[0].id: expected a string, got a list", fault.ConfigInvalid},
		{"a module without id", module("{type: prompt, source: {}}"), "modules[0].id: expected a string, got nothing", fault.ConfigInvalid},
		{"a word as enabled", module("{id: a, type: prompt, enabled: yes, source: {}}"), "modules[0].enabled: expected true or false", fault.ConfigInvalid},
		{"a module without source", module("{id: a, type: prompt}"), "modules[0].source", fault.ConfigInvalid},
		{"a source without path", module("{id: a, type: prompt, source: {local_path: {}}}"), "modules[0].source.local_path.path", fault.ConfigInvalid},
		{"metadata that is not a map", module("{id: a, type: prompt, source: {}, metadata: 1}"), "modules[0].metadata", fault.ConfigInvalid},
		{"a source without local_path and git", module("{id: a, type: prompt, source: {}}"), "exactly one source", fault.ConfigInvalid},
		{"an id with a line break", module(`{id: "a\nb", type: prompt, source: {local_path: {path: x}}}`), "control character", fault.ConfigInvalid},
		{"an empty id", module(`{id: " ", type: prompt, source: {local_path: {path: x}}}`), "empty id", fault.ConfigInvalid},
		{"an unknown scope", start + "targets: {codex: {mode: files, scope: all}}", "targets.codex.scope: expected one of user, project, both", fault.ConfigInvalid},
		{"an unknown mode", start + "targets: {codex: {mode: links, scope: user}}", "targets.codex.mode", fault.ConfigInvalid},
		{"jetbrains with user scope", start + "targets: {jetbrains: {mode: files, scope: user}}", "no directories outside of projects", fault.ConfigInvalid},
		{"the target is checked before the profile", "version: 1\ntargets: {emacs: {mode: files, scope: user}}", "emacs", fault.TargetUnsupported},
		{"the profile is checked before the modules", "version: 1\nmodules: [{id: a, type: prompt, source: {}}]", "no profile", fault.ConfigInvalid},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := config.ParseManifest([]byte(test.text))
			if err == nil {
				t.Fatal("accepted")
			}
			if got := fault.Of(err); got.Code != test.code || !strings.Contains(got.Message, test.says) {
				t.Errorf("got %s %s, want %s with %q", got.Code, got.Message, test.code, test.says)
			}
		})
	}
}

func TestSelect(t *testing.T) {
	m, err := config.ParseManifest([]byte(`
version: 1
profiles:
  default: {}
  p: {include_tags: [t], include_modules: [named, ghost], exclude_modules: [left out]}
modules:
  - {id: named, type: prompt, source: {local_path: {path: x}}}
  - {id: tagged, type: prompt, tags: [a, t], source: {local_path: {path: x}}}
  - {id: left out, type: prompt, tags: [t], source: {local_path: {path: x}}}
  - {id: off, type: prompt, tags: [t], enabled: false, source: {local_path: {path: x}}}
  - {id: another, type: prompt, tags: [b], source: {local_path: {path: x}}}
  - {id: Also, type: prompt, tags: [t], source: {local_path: {path: x}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for profile, want := range map[string][]string{"p": {"Also", "named", "tagged"}, "default": nil} {
		selected, err := m.Select(profile)
		var got []string
		for _, module := range selected {
			got = append(got, module.ID)
		}
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", profile, err, diff)
		}
	}
	if _, err := m.Select("ghost"); fault.Of(err).Code != fault.Unexpected {
		t.Errorf("an unknown profile: got %v", err)
	}
}

func TestLoadManifestReportsMissingFile(t *testing.T) {
	repo := t.TempDir()
	_, err := config.LoadManifest(repo)
	got := fault.Of(err)
	if got.Code != fault.ConfigMissing || got.Details["path"] != filepath.Join(repo, "agentpack.yaml") || got.Details["hint"] == nil {
		t.Errorf("got %+v", got)
	}
}

// TestSampleManifests checks the manifests of the sample data. It is skipped if the sample data is not beside the
// repository.
func TestSampleManifests(t *testing.T) {
	root := testenv.Fixture(t, "agentpack", "composed", "invalid_configs")
	text, err := os.ReadFile(filepath.Join(root, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Case    string         `json:"case"`
		Code    *fault.Code    `json:"code"`
		Details map[string]any `json:"details_contains"`
	}
	if err := errors.Join(err, json.Unmarshal(text, &cases)); err != nil || len(cases) == 0 {
		t.Fatal(err, len(cases))
	}
	for _, test := range cases {
		t.Run(test.Case, func(t *testing.T) {
			_, err := config.LoadManifest(filepath.Join(root, test.Case))
			if test.Code == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			got := fault.Of(err)
			if err == nil || got.Code != *test.Code {
				t.Fatalf("got %v, want %s", err, *test.Code)
			}
			if got.Details["reason_code"] == nil || got.Details["next_actions"] == nil {
				t.Errorf("the fault has no next_actions: %v", got.Details)
			}
			for key, want := range test.Details {
				if asJSON(t, got.Details[key]) != asJSON(t, want) {
					t.Errorf("%s: got %v, want %v", key, got.Details[key], want)
				}
			}
		})
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// FuzzParseManifest checks that ParseManifest returns a valid manifest, or a fault with a remedy.
func FuzzParseManifest(f *testing.F) {
	f.Add([]byte(start + "modules: [{id: a, type: skill, source: {local_path: {path: x}}}]"))
	f.Add([]byte(start + "targets: {cursor: {mode: files, scope: both, options: {write_rules: 'no'}}}"))
	f.Add([]byte("version: &v 1\nprofiles: &p {default: *p}\n"))
	f.Add([]byte("version: 1\n? [a]\n: b\n"))
	f.Add([]byte("version: 0x1\n--- 2"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := config.ParseManifest(text)
		if err != nil {
			if got := fault.Of(err); got.Code == fault.Unexpected || got.Details["next_actions"] == nil {
				t.Errorf("%q: got %+v", text, got)
			}
			return
		}
		seen := map[string]bool{}
		for _, module := range m.Modules {
			if seen[module.ID] || (module.Local == nil) == (module.Git == nil) {
				t.Errorf("%q: got %+v", text, module)
			}
			seen[module.ID] = true
		}
		for profile := range m.Profiles {
			if _, err := m.Select(profile); err != nil {
				t.Error(err)
			}
		}
		for _, target := range m.Targets {
			_ = fmt.Sprint(target.Options.Bool("write_rules", true), target.Options.Text("codex_home"))
		}
	})
}
