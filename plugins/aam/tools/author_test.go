package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

func TestPublishRefuses(t *testing.T) {
	w := realWorld(t, "team", "")
	before := w.read("team-registry")
	w.fails("AAM_MANIFEST_NOT_FOUND", "aam_publish")
	w.write("project/aam.yaml", "name: BAD\n")
	if text := w.fails("AAM_MANIFEST_INVALID", "aam_publish"); !strings.Contains(text, "description: field required") {
		t.Errorf("got %s", text)
	}
	w.write("project/aam.yaml", "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts: {prompts: [{name: p, path: p.md, description: d}]}\n")
	if text := w.fails("AAM_MANIFEST_INVALID", "aam_publish"); !strings.Contains(text, "p.md") {
		t.Errorf("got %s", text)
	}
	w.write("project/p.md", "x")
	w.fails("AAM_REGISTRY_NOT_FOUND", "aam_publish", "registry", "nope")
	w.fails("AAM_REGISTRY_NOT_FOUND", "aam_publish", "registry", "")
	for _, tag := range []string{"", "Beta", "1.0.0", "a b", strings.Repeat("x", 33)} {
		w.fails("AAM_INVALID_ARGUMENT", "aam_publish", "tag", tag)
	}
	if diff := cmp.Diff(before, w.read("team-registry")); diff != "" {
		t.Errorf("the registry has changed (-before +after)\n%s", diff)
	}
	w.remove("team-registry")
	w.fails("AAM_REGISTRY_UNREACHABLE", "aam_publish")
	w.remove("home/.aam")
	w.fails("AAM_REGISTRY_NOT_CONFIGURED", "aam_publish")
}

func TestPublishNeverReplacesVersion(t *testing.T) {
	w := realWorld(t, "team", "")
	w.real("packages/audit-kit", "package-sources", "audit-kit-1.0.0")
	w.enter("packages/audit-kit")
	before := w.read("team-registry")
	w.fails("AAM_INVALID_ARGUMENT", "aam_publish")
	if diff := cmp.Diff(before, w.read("team-registry")); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

// plainYAML parses a YAML document and returns the value that encoding/json would return for it.
func plainYAML(t *testing.T, text string) any {
	t.Helper()
	doc, err := yaml11.Parse([]byte(text), len(text))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := doc.Root().Plain()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

var varying = regexp.MustCompile(`(?m)^( *-? *)(published|updated_at|checksum|size): .*$`)

func TestPublishMatchesRecordedRegistry(t *testing.T) {
	w := realWorld(t, "", "")
	w.write("home/.aam/config.yaml", "registries: [{name: team, url: 'file://"+w.path("new-registry")+"'}]\n")
	w.mkdir("new-registry")
	for _, version := range []string{"1.0.0", "1.2.0", "2.0.0"} {
		folder := "packages/report-templates-" + version
		w.real(folder, "package-sources", "report-templates-"+version)
		w.enter(folder)
		before := w.read(folder)
		got := get[object](w, "aam_publish")
		if got["package_name"] != "report-templates" || got["version"] != version || got["registry"] != "team" || got["archive_size"].(float64) < 100 {
			t.Errorf("got %v", got)
		}
		if diff := cmp.Diff(before, w.read(folder)); diff != "" {
			t.Errorf("the package's directory has changed (-before +after)\n%s", diff)
		}
	}
	same := func(text string) string {
		return varying.ReplaceAllString(strings.ReplaceAll(text, "artifact_types: []", "artifact_types: [skill, instruction]"), "$1$2: x")
	}
	recorded, published := w.read("team-registry"), w.read("new-registry")
	const metadata = "packages/report-templates/metadata.yaml"
	if diff := cmp.Diff(plainYAML(t, same(recorded[metadata])), plainYAML(t, same(published[metadata]))); diff != "" {
		t.Errorf("metadata (-recorded +got)\n%s", diff)
	}
	index := plainYAML(t, same(recorded["index.yaml"])).(object)
	rows := index["packages"].([]any)
	index["packages"] = rows[len(rows)-1:] // this test publishes only the last package, so it compares only that row
	if diff := cmp.Diff(index, plainYAML(t, same(published["index.yaml"]))); diff != "" {
		t.Errorf("index (-recorded +got)\n%s", diff)
	}
}

func TestPublishWithTag(t *testing.T) {
	w := realWorld(t, "team", "")
	w.real("packages/kit", "package-sources", "audit-kit-1.0.0")
	w.enter("packages/kit")
	w.write("packages/kit/aam.yaml", strings.Replace(w.read("packages/kit")["aam.yaml"], "version: 1.0.0", "version: 1.1.0", 1))
	get[object](w, "aam_publish", "tag", "beta", "registry", "team")
	metadata := plainYAML(t, w.read("team-registry")["packages/audit-kit/metadata.yaml"]).(object)
	if diff := cmp.Diff(object{"latest": "1.1.0", "beta": "1.1.0"}, metadata["dist_tags"]); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPublishLeavesOutSecrets(t *testing.T) {
	w := newWorld(t)
	w.mkdir("registry")
	w.write("home/.aam/config.yaml", "registries: [{name: r, url: 'file://"+w.path("registry")+"'}]\n")
	w.write("project/aam.yaml", "name: pkg\nversion: 1.0.0\ndescription: d\nartifacts: {prompts: [{name: p, path: p.md, description: d}]}\n")
	w.write("project/p.md", "x")
	w.write("project/.env", "TOKEN=s3cr3t")
	get[object](w, "aam_publish")
	w.mkdir("project/.aam")
	get[object](w, "aam_install", "packages", specs("pkg"), "no_deploy", true)
	if got := w.read("project/.aam/packages/pkg"); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}

func TestCreatePackage(t *testing.T) {
	w := realWorld(t, "none", "detectable-project")
	got := get[object](w, "aam_create_package", "name", "detected-pack", "description", "Everything found", "include_all", true)
	want := object{
		"manifest_path": w.path("project/aam.yaml"), "package_name": "detected-pack", "version": "0.1.0",
		"artifacts_included": object{"skills": 7.0, "agents": 2.0, "prompts": 5.0, "instructions": 5.0}, "total_artifacts": 19.0,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	report := get[object](w, "aam_validate")
	if report["valid"] != true || report["artifact_count"] != 19.0 {
		t.Errorf("got %v", report)
	}
	text := w.read("project")["aam.yaml"]
	for _, never := range []string{"node_modules", "dist", "prompts/sub", "sub/prompts", ".txt", "loose"} {
		if strings.Contains(text, never) {
			t.Errorf("73 %s is in\n%s", never, text)
		}
	}
	if text := w.fails("AAM_INVALID_ARGUMENT", "aam_create_package"); !strings.Contains(text, "--force") {
		t.Errorf("got %s", text)
	}
	if w.read("project")["aam.yaml"] != text {
		t.Error("the refused call changed the file")
	}
	w.real("project", "workspaces", "detectable-project")
	w.enter("project")
	got = get[object](w, "aam_create_package", "artifact_types", specs("prompt"))
	if got["total_artifacts"] != 5.0 || got["package_name"] != "project" || !cmp.Equal(got["artifacts_included"], object{"prompts": 5.0}) {
		t.Errorf("got %v", got)
	}
}

func TestCreatePackageRefuses(t *testing.T) {
	w := newWorld(t)
	w.mkdir("project/empty")
	w.write("project/only/prompts/p.md", "x")
	for _, args := range [][]any{
		{"path", "empty"}, {"path", "only", "artifact_types", specs("agent")}, {"path", "only", "artifact_types", specs("tool")}, {"path", "gone"},
		{"path", "only/prompts/p.md"}, {"path", "only", "name", "BAD"}, {"path", "only", "version", "x"}, {"path", "only", "description", " "},
		{"path", "only", "name", 1}, {"path", nil}, {"path", "only\x00"}, {"include_all", "yes"},
	} {
		w.fails("AAM_INVALID_ARGUMENT", "aam_create_package", args...)
	}
	if left := w.read("project"); len(left) != 1 {
		t.Errorf("the refused call wrote the files %v", left)
	}
}

func TestCreatePackageSkipsDeployedArtifacts(t *testing.T) {
	w := stocked(t)
	w.write("project/prompts/mine.md", "x")
	get[object](w, "aam_install", "packages", specs("kit"))
	got := get[object](w, "aam_create_package")
	if !cmp.Equal(got["artifacts_included"], object{"prompts": 1.0}) {
		t.Errorf("got %v", got)
	}
}

func TestConfigSet(t *testing.T) {
	w := realWorld(t, "two-registries", "")
	for _, set := range [][2]string{{"default_platform", "vscode"}, {"security.require_signature", "YES"}} {
		want := `{"key":"` + set[0] + `","value":"` + set[1] + `","source":"global"}`
		if got := w.result("aam_config_set", "key", set[0], "value", set[1]).Text(); got != want {
			t.Errorf("got %s", got)
		}
	}
	if got := get[object](w, "aam_config_get", "key", "security.require_signature"); got["value"] != true {
		t.Errorf("got %v", got)
	}
	before := w.read("home")
	for _, set := range [][2]string{{"security.require_checksum", "banana"}, {"author", "x"}, {"registries", "x"}, {"nope", "x"}, {"a.b.c", "x"}} {
		w.fails("AAM_INVALID_ARGUMENT", "aam_config_set", "key", set[0], "value", set[1])
	}
	if diff := cmp.Diff(before, w.read("home")); diff != "" {
		t.Errorf("(-before +after)\n%s", diff)
	}
}

func TestConfigSetPreservesOtherSettings(t *testing.T) {
	w := realWorld(t, "two-registries", "project-overrides")
	get[object](w, "aam_config_set", "key", "author.email", "value", "new@example.org")
	text := w.read("home")[".aam/config.yaml"]
	for _, kept := range []string{"local_extension", "keep: me", "trusted_identities", "*@example.org", "docs-registry", "team-registry", "Jane Doe", "new@example.org"} {
		if !strings.Contains(text, kept) {
			t.Errorf("the call lost %s:\n%s", kept, text)
		}
	}
	if strings.Contains(text, "claude") || strings.Contains(text, "proj\n") {
		t.Errorf("the user's file contains settings of the project:\n%s", text)
	}
}

func TestRegistryAdd(t *testing.T) {
	w := realWorld(t, "team", "empty-workspace")
	w.mkdir("project/.aam")
	w.fails("AAM_INVALID_ARGUMENT", "aam_registry_add", "name", "team", "url", w.path("docs-registry"))
	w.fails("AAM_REGISTRY_UNREACHABLE", "aam_registry_add", "name", "gone", "url", w.path("gone"))
	w.fails("AAM_REGISTRY_UNREACHABLE", "aam_registry_add", "name", "web", "url", "https://registry.example.org")
	w.fails("AAM_INVALID_ARGUMENT", "aam_registry_add", "name", "x", "url", "ssh://registry.example.org")
	w.fails("AAM_INVALID_ARGUMENT", "aam_registry_add", "name", " ", "url", w.path("docs-registry"))
	want := `{"name":"docs","url":"` + w.path("docs-registry") + `","type":"local","is_default":true,"accessible":true}`
	if got := w.result("aam_registry_add", "name", "docs", "url", w.path("docs-registry"), "set_default", true).Text(); got != want {
		t.Errorf("got %s", got)
	}
	listed := get[[]object](w, "aam_registry_list")
	if len(listed) != 2 || listed[0]["is_default"] != false || listed[1]["is_default"] != true || listed[1]["url"] != "file://"+w.path("docs-registry") {
		t.Errorf("got %v", listed)
	}
	if got := get[object](w, "aam_install", "packages", specs("sample-pkg")); len(installed(got)) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestRegistryAddRefusesShadowedName(t *testing.T) {
	w := newWorld(t)
	w.mkdir("r")
	w.write("home/.aam/config.yaml", "registries: [{name: hidden, url: 'file:///x'}]\n")
	w.write("project/.aam/config.yaml", "registries: []\n")
	w.fails("AAM_INVALID_ARGUMENT", "aam_registry_add", "name", "hidden", "url", w.path("r"))
}

// TestRoundTrip creates, publishes, installs and uninstalls a package. Afterwards the project must be unchanged.
func TestRoundTrip(t *testing.T) {
	for _, platform := range []string{"cursor", "claude", "copilot", "codex"} {
		t.Run(platform, func(t *testing.T) {
			w := newWorld(t)
			w.mkdir("registry")
			w.mkdir("user/.aam")
			w.write("user/README.md", "Mine\n")
			w.write("user/CLAUDE.md", "Mine\r\n\r\nand more\n")
			w.write("user/AGENTS.md", "Mine\n")
			w.write("project/skills/look/SKILL.md", "# Look\n")
			w.write("project/skills/look/run.sh", "#!/bin/sh\n")
			if err := os.Chmod(w.path("project/skills/look/run.sh"), 0o755); err != nil {
				t.Fatal(err)
			}
			w.write("project/agents/judge/agent.yaml", "name: judge\ndescription: Judges\nsystem_prompt: p.md\n")
			w.write("project/agents/judge/p.md", "Judge.\n")
			w.write("project/prompts/ask.md", "Ask.\n")
			w.write("project/instructions/style.md", "Be brief.\n")

			get[object](w, "aam_registry_add", "name", "mine", "url", w.path("registry"), "set_default", true)
			get[object](w, "aam_create_package", "name", "@me/round-trip", "description", "There and back")
			if report := get[object](w, "aam_validate"); report["valid"] != true {
				t.Fatal(report)
			}
			published := get[object](w, "aam_publish", "tag", "stable")
			found := get[[]object](w, "aam_search", "query", "and back", "package_type", "agent")
			if !cmp.Equal(names(found, "name"), specs("@me/round-trip")) {
				t.Fatalf("got %v", found)
			}

			w.enter("user")
			before := w.read("user")
			got := get[object](w, "aam_install", "packages", specs("@me/round-trip@^0.1.0"), "platform", platform)
			if !cmp.Equal(installed(got), specs("@me/round-trip@0.1.0")) || got["installed"].([]any)[0].(object)["checksum"] != published["checksum"] {
				t.Fatalf("got %v", got)
			}
			if script, err := findFile(w.root, "user", "home", "run.sh"); err != nil || script.Mode().Perm()&0o100 == 0 {
				t.Errorf("the script cannot be run: %v, %v", script, err)
			}
			if detail := get[object](w, "aam_info", "package_name", "@me/round-trip"); detail["installed_version"] != "0.1.0" {
				t.Errorf("got %v", detail)
			}
			report := get[object](w, "aam_doctor")
			if status, _ := checks(t, report); report["healthy"] != true || status["package_@me/round-trip"] != "pass" || status["packages_integrity"] != "pass" || status["incomplete_install"] != "pass" {
				t.Errorf("got %v", report)
			}
			get[object](w, "aam_uninstall", "package_name", "@me/round-trip")
			if diff := cmp.Diff(before, without(w.read("user"), ".aam/aam-lock.yaml", ".aam/deployments.yaml")); diff != "" {
				t.Errorf("(-before +after)\n%s", diff)
			}
			if left := w.read("home/.codex"); len(left) > 0 {
				t.Errorf("remaining files in the home directory: %v", left)
			}
		})
	}
}

// findFile returns the FileInfo of the deployed file called name, which is in one of the two directories one and other.
func findFile(root, one, other, name string) (os.FileInfo, error) {
	for _, pattern := range []string{one + "/.*/skills/*/" + name, other + "/.*/skills/*/" + name} {
		if found, _ := filepath.Glob(filepath.Join(root, pattern)); len(found) > 0 {
			return os.Stat(found[0])
		}
	}
	return nil, os.ErrNotExist
}

func TestCreatePackageRefusesFileWithDeployedSections(t *testing.T) {
	w := stocked(t)
	get[object](w, "aam_install", "packages", specs("kit"), "platform", "claude")
	if text := w.fails("AAM_INVALID_ARGUMENT", "aam_create_package", "name", "mine"); !strings.Contains(text, "no artifacts found") {
		t.Errorf("a package of a file that consists only of a section: %s", text)
	}
	w.write("project/prompts/p.md", "P")
	w.write("project/CLAUDE.md", w.read("project")["CLAUDE.md"]+"\nMy own.\n")
	if text := w.fails("AAM_INVALID_ARGUMENT", "aam_create_package", "name", "mine"); !strings.Contains(text, "CLAUDE.md contains sections") {
		t.Errorf("a package of a file with a section and other text: %s", text)
	}
	got := get[object](w, "aam_create_package", "name", "mine", "artifact_types", specs("prompt"))
	if got["total_artifacts"] != 1.0 {
		t.Errorf("a package without instructions: %v", got)
	}
	w.write("project/aam.yaml", "name: mine\nversion: 1.0.0\ndescription: d\nartifacts: {instructions: [{name: c, path: CLAUDE.md, description: d}]}\n")
	if text := w.fails("AAM_MANIFEST_INVALID", "aam_publish"); !strings.Contains(text, "section markers") {
		t.Errorf("the published package: %s", text)
	}
}

func TestCreatePackageSkipsFileOfDeployedSections(t *testing.T) {
	w := stocked(t)
	get[object](w, "aam_install", "packages", specs("kit"), "platform", "claude")
	w.write("project/prompts/p.md", "P")
	if got := get[object](w, "aam_create_package", "name", "mine"); got["total_artifacts"] != 1.0 {
		t.Errorf("got %v", got)
	}
}
