package tools_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

func specs(s ...string) []string { return s }

// without returns those files whose paths begin with none of the prefixes.
func without(files map[string]string, prefixes ...string) map[string]string {
	kept := map[string]string{}
	for name, text := range files {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			kept[name] = text
		}
	}
	return kept
}

// only returns those files whose paths begin with one of the prefixes.
func only(files map[string]string, prefixes ...string) map[string]string {
	kept := maps.Clone(files)
	for name := range without(files, prefixes...) {
		delete(kept, name)
	}
	return kept
}

func TestInstallWithoutWorkspace(t *testing.T) {
	w := realWorld(t, "team", "")
	if text := w.fails("AAM_NOT_INITIALIZED", "aam_install", "packages", specs("audit-kit")); !strings.Contains(text, ".aam") {
		t.Errorf("the hint is missing: %s", text)
	}
	if left := w.read("project"); len(left) > 0 {
		t.Errorf("files were created: %v", left)
	}
}

func TestInstallWithDependencies(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	got := get[object](w, "aam_install", "packages", specs("@acme/code-review"))
	if !cmp.Equal(installed(got), specs("@acme/code-review@1.1.0", "report-templates@1.2.0")) || got["dependencies_resolved"] != 2.0 {
		t.Errorf("got %v", got)
	}
	want := object{
		"name": "@acme/code-review", "version": "1.1.0", "source": "team", "artifact_count": 4.0,
		"artifacts": object{"agents": 1.0, "skills": 1.0, "prompts": 1.0, "instructions": 1.0},
		"checksum":  "sha256:7416ecd622db2cbdd9e229dd541d13f7e4e978978a65b17ffbcfe64aca8b5041",
	}
	if diff := cmp.Diff(want, got["installed"].([]any)[0]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := names(get[[]object](w, "aam_list"), "version"); !cmp.Equal(got, specs("1.2.0", "1.1.0")) {
		t.Errorf("got %v", got)
	}
	for _, spec := range []string{"@acme/code-review", "@acme/code-review@1.0.0"} {
		got := get[object](w, "aam_install", "packages", specs(spec))
		if !cmp.Equal(got["already_installed"], []any{"@acme/code-review"}) || len(installed(got)) > 0 {
			t.Errorf("%s: got %v", spec, got)
		}
	}
	got = get[object](w, "aam_install", "packages", specs("@acme/code-review@1.0.0"), "force", true)
	if !cmp.Equal(installed(got), specs("@acme/code-review@1.0.0")) {
		t.Errorf("with force: got %v", got)
	}
	if text := w.read("project")[".cursor/rules/agent-reviewer.mdc"]; !strings.Contains(text, "prompt 1.0.0") {
		t.Errorf("the rule is %s", text)
	}
}

func TestInstallManySpecs(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	got := get[object](w, "aam_install", "packages", specs("report-templates@^1.0.0", "nope", "BAD_NAME", "audit-kit@latest", "@/x", "pkg@"))
	if !cmp.Equal(installed(got), specs("report-templates@1.2.0")) {
		t.Errorf("got %v", got)
	}
	want := map[string]string{
		"nope": "AAM_PACKAGE_NOT_FOUND", "BAD_NAME": "AAM_INVALID_ARGUMENT", "audit-kit@latest": "AAM_INVALID_ARGUMENT",
		"@/x": "AAM_INVALID_ARGUMENT", "pkg@": "AAM_INVALID_ARGUMENT",
	}
	if diff := cmp.Diff(want, failures(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, item := range got["failed"].([]any) {
		fields := slices.Sorted(maps.Keys(item.(object)))
		if !cmp.Equal(fields, specs("code", "details", "hint", "message", "package")) {
			t.Errorf("fields: %v", fields)
		}
	}
}

func TestInstallUnsatisfiableDependencies(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	text := w.fails("AAM_DEPENDENCY_CONFLICT", "aam_install", "packages", specs("quality-suite"))
	for _, part := range []string{"report-templates", "^1.0.0", "^2.0.0", "@acme/code-review", "audit-kit"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing in %s", part, text)
		}
	}
	got := get[object](w, "aam_install", "packages", specs("orphan-needs"))
	failed := got["failed"].([]any)[0].(object)
	if failed["code"] != "AAM_PACKAGE_NOT_FOUND" || !strings.Contains(failed["message"].(string), "does-not-exist") {
		t.Errorf("got %v", got)
	}
	if left := w.read("project"); len(left) > 0 {
		t.Errorf("something was written: %v", left)
	}
}

func TestInstallRefusesToBreakInstalledPackage(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	get[object](w, "aam_install", "packages", specs("@acme/code-review"))
	before := w.read("project")
	text := w.fails("AAM_DEPENDENCY_CONFLICT", "aam_install", "packages", specs("audit-kit"))
	if !strings.Contains(text, "@acme/code-review") || !cmp.Equal(before, w.read("project")) {
		t.Errorf("got %s", text)
	}
	if got := get[object](w, "aam_install", "packages", specs("audit-kit"), "force", true); !cmp.Equal(installed(got), specs("audit-kit@1.0.0", "report-templates@2.0.0")) {
		t.Errorf("with force: got %v", got)
	}
}

func TestInstallCyclesAndPreReleases(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	got := get[object](w, "aam_install", "packages", specs("cycle-a"))
	if got["dependencies_resolved"] != 2.0 || len(get[[]object](w, "aam_list")) != 2 {
		t.Errorf("got %v", got)
	}
	if got := get[object](w, "aam_install", "packages", specs("preview-pkg")); !cmp.Equal(installed(got), specs("preview-pkg@1.0.0-beta.2")) {
		t.Errorf("got %v", got)
	}
}

func TestInstallWithoutDeployment(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	get[object](w, "aam_install", "packages", specs("audit-kit"), "no_deploy", true)
	if left := without(w.read("project"), ".aam/packages/audit-kit/", ".aam/packages/report-templates/", ".aam/aam-lock.yaml", ".aam/deployments.yaml"); len(left) > 0 {
		t.Errorf("also %v", left)
	}
	if got := get[object](w, "aam_install", "packages", specs("audit-kit")); !cmp.Equal(got["already_installed"], []any{"audit-kit"}) {
		t.Errorf("got %v", got)
	}
}

func TestInstallRefusesUnknownPlatform(t *testing.T) {
	w := stocked(t)
	for _, platform := range []string{"vscode", "Claude", "", "claude "} {
		if text := w.fails("AAM_INVALID_ARGUMENT", "aam_install", "packages", specs("kit"), "platform", platform); !strings.Contains(text, "cursor, claude, copilot, codex") {
			t.Errorf("got %s", text)
		}
		w.fails("AAM_INVALID_ARGUMENT", "aam_install", "packages", specs("kit"), "platform", platform, "no_deploy", true)
	}
	w.write("project/.aam/config.yaml", "default_platform: vscode\n")
	if text := w.fails("AAM_INVALID_ARGUMENT", "aam_install", "packages", specs("kit")); !strings.Contains(text, "default_platform") {
		t.Errorf("got %s", text)
	}
	if left := without(w.read("project"), ".aam/config.yaml"); len(left) > 0 {
		t.Errorf("files were created: %v", left)
	}
	for _, args := range [][]any{{"no_deploy", true}, {"platform", "cursor"}} {
		if got := get[object](w, "aam_install", append([]any{"packages", specs("kit")}, args...)...); len(installed(got)) != 1 {
			t.Errorf("got %v", got)
		}
	}
}

// TestInstallOnSecondPlatform installs an installed package for another platform, without force. The package and its
// dependencies must be deployed to that platform, unless they are already deployed there.
func TestInstallOnSecondPlatform(t *testing.T) {
	w := stocked(t)
	w.write("top/aam.yaml", "name: top\nversion: 1.0.0\ndescription: d\ndependencies: {kit: '*'}\nartifacts: {prompts: [{name: ask, path: ask.md, description: d}]}\n")
	w.write("top/ask.md", "Ask\n")
	w.enter("top")
	get[object](w, "aam_publish")
	w.enter("project")
	get[object](w, "aam_install", "packages", specs("top"))
	lock := strings.SplitN(w.read("project")[".aam/aam-lock.yaml"], "packages:", 2)[1]
	got := get[object](w, "aam_install", "packages", specs("top"), "platform", "claude")
	if !cmp.Equal(installed(got), specs("top@1.0.0", "kit@1.0.0")) || len(got["already_installed"].([]any)) != 0 || got["dependencies_resolved"] != 2.0 {
		t.Errorf("got %v", got)
	}
	files := w.read("project")
	for _, name := range []string{".cursor/prompts/ask.md", ".cursor/skills/look/SKILL.md", ".claude/prompts/ask.md", ".claude/skills/look/SKILL.md", "CLAUDE.md"} {
		if files[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
	if diff := cmp.Diff(lock, strings.SplitN(files[".aam/aam-lock.yaml"], "packages:", 2)[1]); diff != "" {
		t.Errorf("lock (-before +after)\n%s", diff)
	}
	for _, args := range [][]any{{"platform", "claude"}, {"platform", "cursor"}, {}, {"platform", "copilot", "no_deploy", true}} {
		if got := get[object](w, "aam_install", append([]any{"packages", specs("top")}, args...)...); !cmp.Equal(got["already_installed"], []any{"top"}) || len(installed(got)) != 0 {
			t.Errorf("%v: got %v", args, got)
		}
	}
	if got := get[object](w, "aam_install", "packages", specs("top@2.0.0"), "platform", "copilot"); !cmp.Equal(got["already_installed"], []any{"top"}) {
		t.Errorf("a version that is not installed: got %v", got)
	}
	w.write("project/.aam/config.yaml", "default_platform: copilot\n")
	w.write("project/.github/prompts/ask.md", "mine")
	if got := failures(get[object](w, "aam_install", "packages", specs("top"))); got["top"] != "AAM_FILE_EXISTS" {
		t.Errorf("got %v", got)
	}
	w.remove("project/.github")
	if got := get[object](w, "aam_install", "packages", specs("top")); !cmp.Equal(installed(got), specs("top@1.0.0", "kit@1.0.0")) {
		t.Errorf("another default platform: got %v", got)
	}
	for _, name := range []string{"top", "kit"} {
		get[object](w, "aam_uninstall", "package_name", name)
	}
	if left := without(w.read("project"), ".aam/"); len(left) > 0 {
		t.Errorf("remaining files: %v", left)
	}
}

func TestForceMovesUserFileToBackup(t *testing.T) {
	w := stocked(t)
	w.write("project/.cursor/skills/look/mine.md", "mine")
	got := get[object](w, "aam_install", "packages", specs("kit"))
	failed := got["failed"].([]any)[0].(object)
	if failed["code"] != "AAM_FILE_EXISTS" || !strings.Contains(failed["message"].(string), ".cursor/skills/look") || !strings.Contains(failed["hint"].(string), "force") ||
		!cmp.Equal(failed["details"], object{"paths": []any{".cursor/skills/look"}}) {
		t.Errorf("got %v", failed)
	}
	moved := func(got object) string {
		t.Helper()
		list, _ := got["backups"].([]any)
		if len(list) != 1 || list[0].(object)["path"] != ".cursor/skills/look" {
			t.Fatalf("got %v", got)
		}
		return list[0].(object)["backup"].(string)
	}
	backup := moved(get[object](w, "aam_install", "packages", specs("kit"), "force", true))
	if text := w.read("project")[backup+"/mine.md"]; !strings.HasPrefix(backup, ".aam/backup/") || text != "mine" {
		t.Errorf("%s has %q", backup, text)
	}
	w.write("project/.cursor/skills/look/SKILL.md", "edited")
	backup = moved(get[object](w, "aam_uninstall", "package_name", "kit"))
	if text := w.read("project")[backup+"/SKILL.md"]; text != "edited" {
		t.Errorf("%s has %q", backup, text)
	}
}

func TestInstallWithoutSpecsOrRegistries(t *testing.T) {
	w := newWorld(t)
	w.mkdir("project/.aam")
	if got := failures(get[object](w, "aam_install", "packages", specs("audit-kit"))); got["audit-kit"] != "AAM_REGISTRY_NOT_CONFIGURED" {
		t.Errorf("got %v", got)
	}
	want := `{"installed":[],"already_installed":[],"failed":[],"dependencies_resolved":0}`
	if got := w.result("aam_install", "packages", []string{}).Text(); got != want {
		t.Errorf("got %s", got)
	}
	w.fails("AAM_INVALID_ARGUMENT", "aam_install", "packages", make([]string, 101))
	w.fails("AAM_INVALID_ARGUMENT", "aam_install", "packages", "audit-kit")
	w.fails("AAM_INVALID_ARGUMENT", "aam_install", "packages", []any{"audit-kit", nil})
	w.fails("AAM_INVALID_ARGUMENT", "aam_install")
}

// TestInstallDeploysToPlatforms compares the deployed files with those that the aam program deploys.
func TestInstallDeploysToPlatforms(t *testing.T) {
	const own = ".aam/packages/acme--code-review/"
	tests := []struct {
		platform string
		packages []string
		before   map[string]string
		compare  []string
		recorded string
	}{
		{"cursor", specs("@author/code-review-toolkit"), nil, specs(".cursor/", ".aam/packages/"), "docs-installed-cursor"},
		{"cursor", specs("@acme/code-review", "preview-pkg@0.9.0"), nil, specs(".cursor/", own, ".aam/packages/report-templates/", ".aam/packages/preview-pkg/"), "installed-cursor"},
		{"claude", specs("@acme/code-review"), map[string]string{"CLAUDE.md": "# My project\n\nHand-written notes.\n"}, specs(".claude/agents/", ".claude/prompts/", ".claude/skills/review-checklist/", own), "installed-claude"},
		{"copilot", specs("@acme/code-review"), nil, specs(".github/agents/", ".github/prompts/", ".github/instructions/review-rules", ".github/skills/review-checklist/", own), "installed-copilot"},
		{"codex", specs("@acme/code-review"), map[string]string{"AGENTS.md": "# Agents\n\nHand-written notes.\n"}, specs(own), "installed-codex"},
	}
	for _, test := range tests {
		t.Run(test.recorded, func(t *testing.T) {
			w := realWorld(t, "two-registries", "empty-workspace")
			w.mkdir("project/.aam")
			for name, text := range test.before {
				w.write("project/"+name, text)
			}
			got := get[object](w, "aam_install", "packages", test.packages, "platform", test.platform)
			if len(failures(got)) > 0 {
				t.Fatal(got)
			}
			w.real("recorded", "workspaces", test.recorded)
			if diff := cmp.Diff(only(w.read("recorded"), test.compare...), only(w.read("project"), test.compare...)); diff != "" {
				t.Errorf("(-recorded +got)\n%s", diff)
			}
			// The recorded program did not install the dependency. The plugin puts the section of the dependency first.
			const dependency = "<!-- BEGIN AAM: report-style instruction -->\n# Report style (1.2.0)\n\n- Use short sentences.\n- Put the conclusion first.\n<!-- END AAM: report-style instruction -->\n\n"
			for name := range test.before {
				if diff := cmp.Diff(w.read("recorded")[name], strings.Replace(w.read("project")[name], dependency, "", 1)); diff != "" {
					t.Errorf("%s (-recorded +got)\n%s", name, diff)
				}
			}
			if test.platform == "codex" {
				w.real("recorded-home", "workspaces", "installed-codex-home")
				got := only(w.read("home/.codex"), "skills/review-checklist/", "prompts/")
				if diff := cmp.Diff(w.read("recorded-home/.codex"), got); diff != "" {
					t.Errorf("home (-recorded +got)\n%s", diff)
				}
			}
		})
	}
}

func TestLockMatchesRecordedLock(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	get[object](w, "aam_install", "packages", specs("report-templates@1.2.0"))
	get[object](w, "aam_install", "packages", specs("@acme/code-review"))
	get[object](w, "aam_install", "packages", specs("preview-pkg@0.9.0"))
	w.real("recorded", "workspaces", "installed-cursor")
	read := func(text string) any {
		doc, err := yaml11.Parse([]byte(text), len(text))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := doc.Root().Field("packages").Plain()
		if err != nil {
			t.Fatal(err)
		}
		var value object
		raw, _ := json.Marshal(plain)
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	if diff := cmp.Diff(read(w.read("recorded")[".aam/aam-lock.yaml"]), read(w.read("project")[".aam/aam-lock.yaml"])); diff != "" {
		t.Errorf("(-recorded +got)\n%s", diff)
	}
}

func TestRedeploymentReplacesAgent(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	for _, version := range []string{"1.0.0", "1.1.0"} {
		get[object](w, "aam_install", "packages", specs("@acme/code-review@"+version), "platform", "codex", "force", true)
	}
	text := w.read("project")["AGENTS.md"]
	if strings.Contains(text, "prompt 1.0.0") || !strings.Contains(text, "prompt 1.1.0") || strings.Count(text, "BEGIN AAM: reviewer agent") != 1 {
		t.Errorf("got %s", text)
	}
}

// TestInstallHostilePackages installs each package of a hostile registry in a new project.
func TestInstallHostilePackages(t *testing.T) {
	refused := map[string]string{
		"path-traversal": "AAM_ARCHIVE_INVALID", "inner-dotdot": "AAM_ARCHIVE_INVALID", "absolute-path": "AAM_ARCHIVE_INVALID",
		"symlink-outside": "AAM_ARCHIVE_INVALID", "symlink-absolute": "AAM_ARCHIVE_INVALID", "symlink-parent-write": "AAM_ARCHIVE_INVALID",
		"hardlink-outside": "AAM_ARCHIVE_INVALID", "fifo-entry": "AAM_ARCHIVE_INVALID",
		"plain-tar": "AAM_ARCHIVE_INVALID", "truncated": "AAM_ARCHIVE_INVALID", "not-an-archive": "AAM_ARCHIVE_INVALID", "zero-bytes": "AAM_ARCHIVE_INVALID",
		"archive-missing": "AAM_ARCHIVE_INVALID", "checksum-mismatch": "AAM_CHECKSUM_MISMATCH", "uppercase-checksum": "AAM_CHECKSUM_MISMATCH",
		"no-manifest": "AAM_MANIFEST_INVALID", "nested-manifest": "AAM_MANIFEST_INVALID", "bad-manifest": "AAM_MANIFEST_INVALID", "missing-artifact": "AAM_MANIFEST_INVALID",
		"empty-checksum": "AAM_CHECKSUM_MISMATCH", "wrong-name": "AAM_ARCHIVE_INVALID", "wrong-version": "AAM_ARCHIVE_INVALID",
		"marker-in-content": "AAM_ARCHIVE_INVALID", "agent-reads-outside": "AAM_ARCHIVE_INVALID",
	}
	taken := specs("dot-slash-names", "symlink-inside", "duplicate-entry", "date-not-quoted", "quotes-in-description", "inflates-large")
	w := realWorld(t, "hostile", "")
	w.real("hostile-registry", "registries", "hostile-registry")
	entries, err := os.ReadDir(w.path("hostile-registry/packages"))
	if err != nil || len(entries) != len(refused)+len(taken) {
		t.Fatalf("%d packages, %v", len(entries), err)
	}
	w.write("outside-secret.txt", "TOP SECRET\n")
	for _, entry := range entries {
		name := entry.Name()
		t.Run(name, func(t *testing.T) {
			w.remove("project")
			w.mkdir("project/.aam")
			w.enter("project")
			around := without(w.read("."), "project/")
			got := get[object](w, "aam_install", "packages", specs(name))
			if code, bad := refused[name]; bad {
				if failures(got)[name] != code {
					t.Errorf("got %v, want %s", got, code)
				}
				if left := w.read("project"); len(left) > 0 {
					t.Errorf("remaining files: %v", left)
				}
			} else if !cmp.Equal(installed(got), specs(name+"@1.0.0")) {
				t.Errorf("got %v", got)
			}
			if diff := cmp.Diff(around, without(w.read("."), "project/")); diff != "" {
				t.Errorf("outside of the project (-before +after)\n%s", diff)
			}
			if raw, _ := json.Marshal(got); strings.Contains(string(raw), "TOP SECRET") {
				t.Error("the secret is disclosed")
			}
		})
	}
	t.Run("the later duplicate is extracted", func(t *testing.T) {
		w.remove("project")
		w.mkdir("project/.aam")
		w.enter("project")
		get[object](w, "aam_install", "packages", specs("duplicate-entry"))
		if text := w.read("project")[".claude/prompts/duplicate-entry-prompt.md"]; strings.TrimSpace(text) != "second copy" {
			t.Errorf("got %q", text)
		}
	})
	t.Run("without verification", func(t *testing.T) {
		w.write("project/.aam/config.yaml", "security: {require_checksum: false}\n")
		got := get[object](w, "aam_install", "packages", specs("checksum-mismatch"))
		if !cmp.Equal(installed(got), specs("checksum-mismatch@1.0.0")) {
			t.Errorf("got %v", got)
		}
	})
	t.Run("the rule of a description with quotes", func(t *testing.T) {
		get[object](w, "aam_install", "packages", specs("quotes-in-description"), "platform", "cursor", "force", true)
		rule := w.read("project")[".cursor/rules/quoted.mdc"]
		if !strings.HasPrefix(rule, "---\ndescription: \"He said \\\"stop\\\": now\"\nalwaysApply: true\n---\n") {
			t.Errorf("got %s", rule)
		}
	})
}

func TestInstallRefusesUnsignedPackages(t *testing.T) {
	w := stocked(t)
	w.write("project/.aam/config.yaml", "security: {require_signature: true, on_signature_failure: error}\n")
	if got := failures(get[object](w, "aam_install", "packages", specs("kit"))); got["kit"] != "AAM_SIGNATURE_MISSING" {
		t.Errorf("got %v", got)
	}
	w.write("project/.aam/config.yaml", "security: {require_signature: true}\n")
	if got := get[object](w, "aam_install", "packages", specs("kit")); len(installed(got)) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestInstallSkipsUnusableRegistry(t *testing.T) {
	w := stocked(t)
	w.write("home/.aam/config.yaml", "registries: [{name: web, url: 'https://r.example.org', type: http}, {name: gone, url: 'file:///nowhere/r'}, {name: own, url: 'file://"+w.path("registry")+"'}]\n")
	if got := get[object](w, "aam_install", "packages", specs("kit")); !cmp.Equal(installed(got), specs("kit@1.0.0")) {
		t.Errorf("got %v", got)
	}
	log := strings.Join(w.host.Log(), "\n")
	for _, name := range []string{"'web'", "'gone'"} {
		if !strings.Contains(log, name) {
			t.Errorf("no warning about %s: %s", name, log)
		}
	}
}

func TestUninstall(t *testing.T) {
	w := realWorld(t, "team", "installed-cursor")
	got := get[object](w, "aam_uninstall", "package_name", "report-templates")
	want := object{"package_name": "report-templates", "version": "1.2.0", "files_removed": 3.0, "dependents_warning": []any{"@acme/code-review"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	left := w.read("project")
	w.real("recorded", "workspaces", "installed-cursor")
	gone := specs(".cursor/skills/report-writer/", ".cursor/rules/report-style.mdc", ".aam/packages/report-templates/", ".aam/aam-lock.yaml")
	if diff := cmp.Diff(without(w.read("recorded"), gone...), without(left, ".aam/aam-lock.yaml", ".aam/deployments.yaml")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	w.fails("AAM_PACKAGE_NOT_INSTALLED", "aam_uninstall", "package_name", "nope")
	newWorld(t).fails("AAM_PACKAGE_NOT_INSTALLED", "aam_uninstall", "package_name", "nope")
	w = realWorld(t, "team", "broken-packages")
	for _, name := range []string{"vanished", "broken"} {
		if got := get[object](w, "aam_uninstall", "package_name", name); got["files_removed"] != 0.0 {
			t.Errorf("got %v", got)
		}
	}
	if got := w.result("aam_list").Text(); got != "[]" {
		t.Errorf("got %s", got)
	}
}

func TestUninstallFromCodex(t *testing.T) {
	w := realWorld(t, "team", "installed-codex")
	w.real("home/.codex", "workspaces", "installed-codex-home", ".codex")
	get[object](w, "aam_config_set", "key", "default_platform", "value", "codex")
	get[object](w, "aam_uninstall", "package_name", "@acme/code-review")
	if got := w.read("project")["AGENTS.md"]; got != "# Agents\n\nHand-written notes.\n" {
		t.Errorf("got %q", got)
	}
	if left := w.read("home/.codex"); len(left) > 0 {
		t.Errorf("remaining files in the home directory: %v", left)
	}
}

func TestInstallReportsFileInPlaceOfDirectory(t *testing.T) {
	for _, name := range []string{".cursor", ".cursor/skills"} {
		w := stocked(t)
		w.write("project/"+name, "mine")
		got := get[object](w, "aam_install", "packages", specs("kit"))
		failed := got["failed"].([]any)[0].(object)
		if failed["code"] != "AAM_INVALID_ARGUMENT" || !strings.Contains(failed["message"].(string), "not a directory") || !strings.Contains(failed["hint"].(string), "move the file") {
			t.Errorf("%s: got %v", name, failed)
		}
		if left := w.read("project"); len(left) != 1 || left[name] != "mine" {
			t.Errorf("%s: remaining files: %v", name, left)
		}
	}
}

func TestWorkspaceThatIsFile(t *testing.T) {
	w := newWorld(t)
	w.write("project/.aam", "mine")
	if got := get[[]object](w, "aam_list"); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	w.fails("AAM_NOT_INITIALIZED", "aam_install", "packages", specs("kit"))
	w.fails("AAM_PACKAGE_NOT_INSTALLED", "aam_uninstall", "package_name", "kit")
}

func TestInstallRefusesPromptThatIsNotFile(t *testing.T) {
	for _, prompt := range []string{".", "..", "''", "sub"} {
		w := stocked(t)
		w.write("kit/aam.yaml", "name: kit\nversion: 2.0.0\ndescription: d\nartifacts: {agents: [{name: a, path: a, description: d}]}\n")
		w.write("kit/a/agent.yaml", "name: a\ndescription: d\nsystem_prompt: "+prompt+"\n")
		w.write("kit/a/sub/x", "x")
		w.enter("kit")
		get[object](w, "aam_publish")
		w.enter("project")
		got := get[object](w, "aam_install", "packages", specs("kit"))
		if codes := failures(got); codes["kit"] != "AAM_MANIFEST_INVALID" {
			t.Errorf("%s: got %v", prompt, got)
		}
	}
}

func TestInstallListsPackageOnce(t *testing.T) {
	w := stocked(t)
	got := get[object](w, "aam_install", "packages", specs("kit", "kit@1.0.0", "kit@*", "kit"))
	if names := installed(got); !cmp.Equal(names, []string{"kit@1.0.0"}) || got["dependencies_resolved"] != 1.0 || len(got["failed"].([]any)) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestDoctorReportsPlatformWithOtherVersion(t *testing.T) {
	w := stocked(t)
	says := func() string {
		for _, check := range get[object](w, "aam_doctor")["checks"].([]any) {
			if check := check.(object); check["name"] == "package_kit" {
				return check["status"].(string) + " " + check["message"].(string)
			}
		}
		return ""
	}
	install := func(spec, platform string) {
		get[object](w, "aam_install", "packages", specs(spec), "platform", platform, "force", true)
	}
	install("kit", "claude")
	install("kit", "cursor")
	if got := says(); !strings.HasPrefix(got, "pass") {
		t.Errorf("one version everywhere: %s", got)
	}
	w.write("kit/aam.yaml", strings.Replace(w.read("kit")["aam.yaml"], "1.0.0", "2.0.0", 1))
	w.enter("kit")
	get[object](w, "aam_publish")
	w.enter("project")
	install("kit", "cursor")
	if got := says(); !strings.HasPrefix(got, "warn") || !strings.Contains(got, "the deployments to claude") {
		t.Errorf("another at one platform: %s", got)
	}
	install("kit", "cursor")
	if got := says(); !strings.HasPrefix(got, "warn") {
		t.Errorf("and once more: %s", got)
	}
	for _, back := range [][2]string{{"kit@1.0.0", "copilot"}, {"kit@2.0.0", "claude"}} {
		install(back[0], back[1])
	}
	if got := says(); !strings.Contains(got, "the deployments to copilot") {
		t.Errorf("there and back: %s", got)
	}
	install("kit@2.0.0", "copilot")
	if got := says(); !strings.HasPrefix(got, "pass") {
		t.Errorf("the new one everywhere: %s", got)
	}
}
