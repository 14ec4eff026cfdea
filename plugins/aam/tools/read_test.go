package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSearchWithoutRegistries(t *testing.T) {
	w := newWorld(t)
	if got := w.result("aam_search", "query", "x"); got.IsError || got.Text() != "[]" || string(got.Structured) != `{"result":[]}` {
		t.Errorf("got %s", got.Raw)
	}
}

func TestSearchArguments(t *testing.T) {
	w := realWorld(t, "team", "")
	for _, args := range [][]any{
		{"query", "a", "limit", 0}, {"query", "a", "limit", 51}, {"query", "a", "limit", 1.5}, {"query", "a", "limit", nil}, {"query", "a", "limit", "1"},
		{"query", "a", "package_type", "tool"}, {"query", "a", "package_type", ""}, {}, {"query", 1}, {"query", nil}, {"query", "a", "sort_by", "x"},
	} {
		w.fails("AAM_INVALID_ARGUMENT", "aam_search", args...)
	}
	if got := get[[]object](w, "aam_search", "query", "", "limit", 1.0); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestSearchRanking(t *testing.T) {
	w := realWorld(t, "team", "")
	tests := []struct {
		query string
		want  []string
	}{
		{"report", []string{"report-templates", "audit-kit"}},
		{"audit", []string{"audit-kit", "@acme/code-review"}},
		{"aud", []string{"audit-kit"}},
		{"templates written", []string{}},
		{"zzz", []string{}},
		{"", []string{"@acme/code-review", "audit-kit", "cycle-a", "cycle-b", "orphan-needs", "preview-pkg", "quality-suite", "report-templates"}},
		{"REVIEW", []string{"@acme/code-review", "preview-pkg"}},
		{"@acme", []string{"@acme/code-review"}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, names(get[[]object](w, "aam_search", "query", test.query), "name")); diff != "" {
			t.Errorf("%q (-want +got)\n%s", test.query, diff)
		}
	}
	want := `[{"name":"report-templates","version":"2.0.0","description":"Reusable templates for written reports","author":"Acme Docs","artifact_types":["skill","instruction"],"registry":"team"}]`
	if got := w.result("aam_search", "query", "report-templates").Text(); got != want {
		t.Errorf("a row: got %s", got)
	}
}

func TestSearchByType(t *testing.T) {
	w := realWorld(t, "team", "")
	got := get[[]object](w, "aam_search", "query", "report", "package_type", "skill")
	if diff := cmp.Diff([]string{"report-templates"}, names(got, "name")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSearchInTwoRegistries(t *testing.T) {
	w := realWorld(t, "", "")
	w.real("copy-registry", "registries", "team-registry")
	w.write("home/.aam/config.yaml", "registries:\n- {name: one, url: 'file://"+w.path("team-registry")+"'}\n- {name: two, url: '"+w.path("copy-registry")+"'}\n")
	got := get[[]object](w, "aam_search", "query", "audit-kit")
	if diff := cmp.Diff([]string{"one", "two"}, names(got, "registry")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestSearchFailsForUnusableRegistry(t *testing.T) {
	w := realWorld(t, "team", "")
	w.remove("team-registry")
	if text := w.fails("AAM_REGISTRY_UNREACHABLE", "aam_search", "query", "x"); !strings.Contains(text, "'team'") {
		t.Errorf("got %s", text)
	}
	w = realWorld(t, "with-http-registry", "")
	if text := w.fails("AAM_REGISTRY_UNREACHABLE", "aam_search", "query", "x"); !strings.Contains(text, "'web'") {
		t.Errorf("got %s", text)
	}
}

func TestList(t *testing.T) {
	w := newWorld(t)
	if got := w.result("aam_list").Text(); got != "[]" {
		t.Errorf("no workspace: got %s", got)
	}
	w = realWorld(t, "team", "installed-cursor")
	got := get[[]object](w, "aam_list")
	if diff := cmp.Diff([]string{"@acme/code-review", "report-templates", "preview-pkg"}, names(got, "name")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want := object{
		"name": "@acme/code-review", "version": "1.1.0", "source": "team", "artifact_count": 4.0,
		"artifacts": object{"agents": 1.0, "skills": 1.0, "prompts": 1.0, "instructions": 1.0},
		"checksum":  "sha256:7416ecd622db2cbdd9e229dd541d13f7e4e978978a65b17ffbcfe64aca8b5041", "source_name": nil, "source_commit": nil,
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	w = realWorld(t, "team", "broken-packages")
	for _, item := range get[[]object](w, "aam_list") {
		if item["artifact_count"] != 0.0 || !cmp.Equal(item["artifacts"], object{}) {
			t.Errorf("got %v", item)
		}
	}
	for _, lock := range []string{"lock-empty", "lock-entry-string"} {
		if got := realWorld(t, "team", "locks/"+lock).result("aam_list").Text(); got != "[]" {
			t.Errorf("%s: got %s", lock, got)
		}
	}
}

func TestInvalidLocks(t *testing.T) {
	for _, lock := range []string{"lock-packages-null", "lock-bad-name", "lock-bad-yaml", "lock-float-version", "lock-entry-incomplete", "lock-half-source"} {
		w := realWorld(t, "team", "locks/"+lock)
		before := w.read("project")
		w.fails("AAM_INTERNAL_ERROR", "aam_list")
		w.fails("AAM_INTERNAL_ERROR", "aam_info", "package_name", "audit-kit")
		w.fails("AAM_INTERNAL_ERROR", "aam_install", "packages", []string{"audit-kit"})
		w.fails("AAM_INTERNAL_ERROR", "aam_uninstall", "package_name", "a")
		report := get[object](w, "aam_doctor")
		if report["healthy"] != false {
			t.Errorf("%s: the report has no problem: %v", lock, report)
		}
		if diff := cmp.Diff(before, w.read("project")); diff != "" {
			t.Errorf("%s: (-before +after)\n%s", lock, diff)
		}
	}
}

func TestInfo(t *testing.T) {
	w := realWorld(t, "team", "installed-cursor")
	w.fails("AAM_PACKAGE_NOT_FOUND", "aam_info", "package_name", "nope")
	w.fails("AAM_INVALID_ARGUMENT", "aam_info", "package_name", "BAD_NAME")
	w.fails("AAM_PACKAGE_NOT_FOUND", "aam_info", "package_name", "@acme/code-review", "version", "9.9.9")
	w.fails("AAM_PACKAGE_NOT_FOUND", "aam_info", "package_name", "@acme/code-review", "version", "latest")
	got := get[object](w, "aam_info", "package_name", "@acme/code-review")
	if got["installed"] != true || got["installed_version"] != "1.1.0" || !cmp.Equal(got["dependencies"], object{"report-templates": "^1.0.0"}) {
		t.Errorf("got %v", got)
	}
	got = get[object](w, "aam_info", "package_name", "@acme/code-review", "version", "1.0.0")
	if got["version"] != "1.0.0" || got["installed"] != true || got["installed_version"] != "1.1.0" || got["source"] != "team" {
		t.Errorf("another version: got %v", got)
	}
	want := `{"name":"audit-kit","version":"1.0.0","description":"Audit prompts built on the second generation of report templates","author":null,"license":null,"repository":null,"homepage":null,"keywords":["audit"],` +
		`"artifacts":{"prompts":[{"name":"audit-summary","path":"prompts/audit-summary.md","description":"Executive summary of an audit"}]},` +
		`"dependencies":{"report-templates":"^2.0.0"},"platforms":{},"installed":false,"installed_version":null,"source":"team","source_name":null,"source_commit":null}`
	if got := w.result("aam_info", "package_name", "audit-kit").Text(); got != want {
		t.Errorf("only in the registry:\ngot  %s\nwant %s", got, want)
	}
	w = realWorld(t, "team", "broken-packages")
	w.fails("AAM_MANIFEST_INVALID", "aam_info", "package_name", "broken")
	w.fails("AAM_PACKAGE_NOT_FOUND", "aam_info", "package_name", "vanished")
}

func TestConfigGet(t *testing.T) {
	w := newWorld(t)
	want := `{"key":null,"value":{"default_platform":"cursor","active_platforms":["cursor"],"registries":[],` +
		`"security":{"require_checksum":true,"require_signature":false,"on_signature_failure":"warn"},"author":{"name":null,"email":null},` +
		`"publish":{"default_scope":""},"sources":[],"removed_defaults":[]},"source":"merged"}`
	if got := w.result("aam_config_get").Text(); got != want {
		t.Errorf("got %s", got)
	}
	for key, want := range map[string]string{
		"default_platform": `{"key":"default_platform","value":"cursor","source":"default"}`,
		"author.name":      `{"key":"author.name","value":null,"source":"default"}`,
	} {
		if got := w.result("aam_config_get", "key", key).Text(); got != want {
			t.Errorf("%s: got %s", key, got)
		}
	}
	for _, key := range []string{"nope", "security.nope", "registries.0", "a.b.c", ""} {
		if text := w.fails("AAM_INVALID_ARGUMENT", "aam_config_get", "key", key); !strings.Contains(text, "security.require_checksum") {
			t.Errorf("%q: the keys are not listed: %s", key, text)
		}
	}
	if left := w.read("home"); len(left) > 0 {
		t.Errorf("read-only tools wrote files: %v", left)
	}
}

func TestConfigLayers(t *testing.T) {
	w := realWorld(t, "two-registries", "project-overrides")
	if got := get[object](w, "aam_config_get", "key", "default_platform"); got["value"] != "claude" || got["source"] != "project" {
		t.Errorf("got %v", got)
	}
	if got := names(get[[]object](w, "aam_registry_list"), "name"); !cmp.Equal(got, []string{"proj"}) {
		t.Errorf("got %v", got)
	}
	for _, home := range []string{"bad-yaml", "bad-schema", "null-section"} {
		w := realWorld(t, home, "")
		w.write("project/.aam/aam-lock.yaml", "")
		for _, call := range [][]any{
			{"aam_config_get"}, {"aam_registry_list"}, {"aam_search", "query", ""}, {"aam_info", "package_name", "x"}, {"aam_config_set", "key", "author.name", "value", "x"},
			{"aam_registry_add", "name", "x", "url", w.path("team-registry")}, {"aam_install", "packages", []string{"x"}}, {"aam_uninstall", "package_name", "x"},
		} {
			before := w.read("home")
			text := w.fails("AAM_INTERNAL_ERROR", call[0].(string), call[1:]...)
			if !strings.Contains(text, "config.yaml") || !strings.Contains(text, "aam_doctor") || !cmp.Equal(before, w.read("home")) {
				t.Errorf("%s, %v: %s", home, call, text)
			}
		}
	}
	for _, home := range []string{"empty", "list-document"} {
		if got := get[object](realWorld(t, home, ""), "aam_config_get", "key", "default_platform"); got["source"] != "default" {
			t.Errorf("%s: got %v", home, got)
		}
	}
}

func TestRegistryList(t *testing.T) {
	if got := newWorld(t).result("aam_registry_list").Text(); got != "[]" {
		t.Errorf("none: got %s", got)
	}
	w := realWorld(t, "with-http-registry", "")
	want := `[{"name":"team","url":"file://` + w.path("team-registry") + `","type":"local","is_default":true,"accessible":true},` +
		`{"name":"web","url":"https://registry.example.org","type":"http","is_default":false,"accessible":false}]`
	if got := w.result("aam_registry_list").Text(); got != want {
		t.Errorf("got %s", got)
	}
	w.remove("team-registry")
	if got := get[[]object](w, "aam_registry_list"); got[0]["accessible"] != false {
		t.Errorf("the directory is missing: got %v", got)
	}
}

// checks returns the status of each check in a report, with the name of the check as the key, and the names in the
// order of the report. It also verifies the summary of the report.
func checks(t *testing.T, report object) (map[string]string, []string) {
	t.Helper()
	by, order, counts := map[string]string{}, []string{}, map[string]int{}
	for _, item := range report["checks"].([]any) {
		check := item.(object)
		name, status := check["name"].(string), check["status"].(string)
		by[name] = status
		order = append(order, name)
		counts[status]++
		if status == "fail" && check["suggestion"] == nil {
			t.Errorf("%s fails without a suggestion", name)
		}
	}
	warnings := "warnings"
	if counts["warn"] == 1 {
		warnings = "warning"
	}
	if want := fmt.Sprintf("%d passed, %d %s, %d failed", counts["pass"], counts["warn"], warnings, counts["fail"]); report["summary"] != want {
		t.Errorf("summary: got %v, want %s", report["summary"], want)
	}
	if report["healthy"] != (counts["fail"] == 0) {
		t.Errorf("healthy: got %v", report["healthy"])
	}
	return by, order
}

func message(report object, name string) string {
	for _, item := range report["checks"].([]any) {
		if check := item.(object); check["name"] == name {
			return check["message"].(string)
		}
	}
	return ""
}

func TestDoctor(t *testing.T) {
	tests := []struct {
		name, home, workspace string
		gone                  string // the directory that the test removes first
		want                  map[string]string
		says                  map[string]string
	}{
		{"no files", "", "", "", map[string]string{"python_version": "pass", "global_config": "pass", "project_config": "warn", "config_valid": "pass", "packages_integrity": "pass", "incomplete_install": "pass"}, nil},
		{"a config that is not YAML", "bad-yaml", "", "", map[string]string{"python_version": "pass", "global_config": "fail", "project_config": "warn", "config_valid": "fail", "packages_integrity": "pass", "incomplete_install": "pass"}, map[string]string{"global_config": "invalid YAML"}},
		{"a config with errors", "bad-schema", "", "", map[string]string{"python_version": "pass", "global_config": "fail", "project_config": "warn", "config_valid": "fail", "packages_integrity": "pass", "incomplete_install": "pass"}, map[string]string{"global_config": "2 validation errors"}},
		{"an empty config", "empty", "", "", map[string]string{"python_version": "pass", "global_config": "pass", "project_config": "warn", "config_valid": "pass", "packages_integrity": "pass", "incomplete_install": "pass"}, map[string]string{"global_config": "empty"}},
		{"leftovers of an install", "team", "leftover-staging", "", map[string]string{"python_version": "pass", "global_config": "pass", "project_config": "warn", "config_valid": "pass", "registry_team": "pass", "packages_integrity": "pass", "incomplete_install": "warn"}, map[string]string{"incomplete_install": "partial-pkg"}},
		{"damaged packages", "team", "broken-packages", "", map[string]string{"python_version": "pass", "global_config": "pass", "project_config": "warn", "config_valid": "pass", "registry_team": "pass", "package_broken": "warn", "package_vanished": "warn", "packages_integrity": "warn", "incomplete_install": "pass"}, map[string]string{"packages_integrity": "2 packages"}},
		{"a missing registry", "team", "installed-cursor", "team-registry", map[string]string{"python_version": "pass", "global_config": "pass", "project_config": "warn", "config_valid": "pass", "registry_team": "warn", "package_@acme/code-review": "pass", "package_report-templates": "pass", "package_preview-pkg": "pass", "packages_integrity": "pass", "incomplete_install": "pass"}, map[string]string{"registry_team": "team-registry"}},
		{"an http registry", "with-http-registry", "project-overrides", "", map[string]string{"python_version": "pass", "global_config": "pass", "project_config": "pass", "config_valid": "pass", "registry_proj": "pass", "packages_integrity": "pass", "incomplete_install": "pass"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := realWorld(t, test.home, test.workspace)
			if test.gone != "" {
				w.remove(test.gone)
			}
			report := get[object](w, "aam_doctor")
			got, order := checks(t, report)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if !cmp.Equal(order[:4], []string{"python_version", "global_config", "project_config", "config_valid"}) {
				t.Errorf("order: %v", order)
			}
			for name, text := range test.says {
				if !strings.Contains(message(report, name), text) {
					t.Errorf("%s says %s", name, message(report, name))
				}
			}
		})
	}
}

func TestLatestTagWithoutVersion(t *testing.T) {
	w := stocked(t)
	path := "registry/packages/kit/metadata.yaml"
	w.write(path, strings.Replace(w.read("registry")["packages/kit/metadata.yaml"], "latest: 1.0.0", "latest: 9.0.0", 1))
	if got := get[object](w, "aam_info", "package_name", "kit"); got["version"] != "1.0.0" {
		t.Errorf("got %v", got)
	}
}
