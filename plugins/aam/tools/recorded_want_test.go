package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// meant contains the answers that differ intentionally from the recordings, as JSON without texts for people. The key
// is the id of the call.
var meant = map[string]string{
	// The plugin treats a plain path as a directory. A server can be added as a registry only if the server responds.
	"registry-add-missing-dir": `"[AAM_REGISTRY_UNREACHABLE]"`,
	"registry-add-plain-path":  `{"name": "plain", "url": "/srv/aam/team-registry", "type": "local", "is_default": false, "accessible": true}`,
	"registry-add-https":       `"[AAM_REGISTRY_UNREACHABLE]"`,
	// In the contract, the field accessible is a boolean.
	"registry-list-two": `[{"name": "team", "url": "file:///srv/aam/team-registry", "type": "local", "is_default": true, "accessible": true}, {"name": "web", "url": "https://registry.example.org", "type": "http", "is_default": false, "accessible": false}]`,
	// A registry that cannot be read makes a search fail, whereas an install ignores the registry.
	"search-with-http-registry":  `"[AAM_REGISTRY_UNREACHABLE]"`,
	"search-registry-gone":       `"[AAM_REGISTRY_UNREACHABLE]"`,
	"search-no-registries":       `[]`,
	"install-with-http-registry": recordedInstall("report-templates", "2.0.0", "team", "sha256:9d42779766f136ea350a00fe597a136c14a6361ac15f65faba9e16afee030101", 2, `{"skills": 1, "instructions": 1}`, 1),
	"install-no-registries":      recordedFailure("report-templates", "AAM_REGISTRY_NOT_CONFIGURED"),
	// In the contract, aam_publish packs the package itself.
	"publish-duplicate":  `"[AAM_INVALID_ARGUMENT]"`,
	"publish-no-archive": `{"package_name": "audit-kit", "version": "1.0.0", "registry": "team"}`,
	// In the contract, search results have artifact types.
	"search-type-skill": `[{"name": "report-templates", "version": "2.0.0", "description": "Reusable templates for written reports", "author": "Acme Docs", "artifact_types": ["skill", "instruction"], "registry": "team"}]`,
	// In the contract, failures have codes, and an install also installs dependencies.
	"install-mixed": `{"installed": [{"name": "report-templates", "version": "1.2.0", "source": "team", "artifact_count": 2, "artifacts": {"skills": 1, "instructions": 1}, "checksum": "sha256:6dec5e4f096150b6025526af8c07be0efa51b821a68e4cc66c81f0ab1de80f62"}],
		"already_installed": [], "dependencies_resolved": 1, "failed": [{"package": "nope", "code": "AAM_PACKAGE_NOT_FOUND"}, {"package": "BAD_NAME", "code": "AAM_INVALID_ARGUMENT"},
		{"package": "audit-kit@latest", "code": "AAM_INVALID_ARGUMENT"}, {"package": "@/x", "code": "AAM_INVALID_ARGUMENT"}, {"package": "pkg@", "code": "AAM_INVALID_ARGUMENT"}]}`,
	"install-prerelease":           recordedInstall("preview-pkg", "1.0.0-beta.2", "team", "sha256:40a555939caed90a32d75d80a5090b72f20225bf45f4d69b108b33f4744b5e7b", 1, `{"skills": 1}`, 1),
	"install-exact-prerelease":     recordedInstall("preview-pkg", "1.0.0-beta.2", "team", "sha256:40a555939caed90a32d75d80a5090b72f20225bf45f4d69b108b33f4744b5e7b", 1, `{"skills": 1}`, 1),
	"install-conflict-root":        `"[AAM_DEPENDENCY_CONFLICT]"`,
	"install-unsupported-platform": `"[AAM_INVALID_ARGUMENT]"`,
	"install-missing-dep":          recordedFailure("orphan-needs", "AAM_PACKAGE_NOT_FOUND"),
	// The plugin looks for packages that are not installed in the registries.
	"info-only-in-registry": `{"name": "cycle-a", "version": "1.0.0", "description": "One half of a dependency cycle", "author": null, "license": null, "repository": null, "homepage": null, "keywords": [],
		"artifacts": {"prompts": [{"name": "cycle-a-prompt", "path": "prompts/cycle-a-prompt.md", "description": "Prompt of cycle-a"}]}, "dependencies": {"cycle-b": "^1.0.0"}, "platforms": {},
		"installed": false, "installed_version": null, "source": "team", "source_name": null, "source_commit": null}`,
	"info-version-ignored": `"[AAM_PACKAGE_NOT_FOUND]"`,
	"info-broken":          `"[AAM_MANIFEST_INVALID]"`,
	// In the contract, files_removed is the number of files, not of artifacts.
	"uninstall-with-dependents":          `{"package_name": "report-templates", "version": "1.2.0", "files_removed": 3, "dependents_warning": ["@acme/code-review"]}`,
	"uninstall-codex-public-uses-cursor": `{"package_name": "@acme/code-review", "version": "1.1.0", "files_removed": 3, "dependents_warning": []}`,
	// In the contract, an unset setting is null, and a value that would make the file invalid is refused.
	"config-get-author.name":                      `{"key": "author.name", "value": null, "source": "global"}`,
	"config-set-security.require_checksum=banana": `"[AAM_INVALID_ARGUMENT]"`,
	"config-set-registries=x":                     `"[AAM_INVALID_ARGUMENT]"`,
	"config-set-author=x":                         `"[AAM_INVALID_ARGUMENT]"`,
	// In the contract, the default version differs from that of the recorded program, all names are made valid, no file
	// is overwritten, and a project without artifacts causes an error.
	"create-all":           `{"manifest_path": "/srv/aam/scratch/detectable-project/aam.yaml", "package_name": "detected-pack", "version": "0.1.0", "artifacts_included": {"skills": 7, "agents": 2, "prompts": 5, "instructions": 5}, "total_artifacts": 19}`,
	"create-all-validate":  `{"valid": true, "package_name": "detected-pack", "package_version": "0.1.0", "errors": [], "warnings": ["author"], "artifact_count": 19, "artifacts_valid": true}`,
	"create-over-existing": `"[AAM_INVALID_ARGUMENT]"`,
	"create-nothing-found": `"[AAM_INVALID_ARGUMENT]"`,
	// These hostile packages are installed either only by the recorded program or only by the plugin.
	"hostile-agent-reads-outside": recordedFailure("agent-reads-outside", "AAM_ARCHIVE_INVALID"),
	"hostile-date-not-quoted":     recordedInstall("date-not-quoted", "1.0.0", "hostile", "sha256:d6d755a100e7535f01d4fd56a5328ce5534eb05deeba177bcffaf3676bcc52e7", 1, `{"prompts": 1}`, 1),
	"hostile-empty-checksum":      recordedFailure("empty-checksum", "AAM_CHECKSUM_MISMATCH"),
	"hostile-marker-in-content":   recordedFailure("marker-in-content", "AAM_ARCHIVE_INVALID"),
	"hostile-wrong-name":          recordedFailure("wrong-name", "AAM_ARCHIVE_INVALID"),
	"hostile-wrong-version":       recordedFailure("wrong-version", "AAM_ARCHIVE_INVALID"),
	"hostile-checksum-mismatch":   recordedFailure("checksum-mismatch", "AAM_CHECKSUM_MISMATCH"),
	"hostile-uppercase-checksum":  recordedFailure("uppercase-checksum", "AAM_CHECKSUM_MISMATCH"),
	"hostile-bad-manifest":        recordedFailure("bad-manifest", "AAM_MANIFEST_INVALID"),
	"hostile-nested-manifest":     recordedFailure("nested-manifest", "AAM_MANIFEST_INVALID"),
	"hostile-no-manifest":         recordedFailure("no-manifest", "AAM_MANIFEST_INVALID"),
	"hostile-missing-artifact":    recordedFailure("missing-artifact", "AAM_MANIFEST_INVALID"),
}

func recordedInstall(name, version, source, checksum string, count int, artifacts string, total int) string {
	return fmt.Sprintf(`{"installed": [{"name": %q, "version": %q, "source": %q, "artifact_count": %d, "artifacts": %s, "checksum": %q}], "already_installed": [], "failed": [], "dependencies_resolved": %d}`,
		name, version, source, count, artifacts, checksum, total)
}

func recordedFailure(spec, code string) string {
	return fmt.Sprintf(`{"installed": [], "already_installed": [], "failed": [{"package": %q, "code": %q}], "dependencies_resolved": 0}`, spec, code)
}

// recordedWant returns the expected answer to a call. This is the answer in meant or, if meant has none, the recorded
// answer in the form of the contract.
func recordedWant(t *testing.T, call recordedCall) any {
	t.Helper()
	if text, ok := meant[call.ID]; ok {
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", call.ID, err)
		}
		return want
	}
	if call.Error != nil {
		return codePattern.FindString(call.Error.Message)
	}
	switch output := call.Output.(type) {
	case map[string]any:
		shape(t, call, output)
		if results, ok := output["results"].([]any); ok {
			return searched(t, results)
		}
	}
	return withoutWords(t, call.Output)
}

// shape converts a recorded answer to the form that the contract requires.
func shape(t *testing.T, call recordedCall, output map[string]any) {
	switch call.Tool {
	case "aam_registry_add":
		output["accessible"] = true // the contract requires a boolean, which the recording lacks
	case "aam_config_get":
		if output["source"] == "config" {
			output["source"] = "global" // the configuration file in the home directory contains all settings of the section
		}
	case "aam_install":
		for _, item := range output["installed"].([]any) {
			item := item.(map[string]any)
			if item["source"] != "hostile" {
				item["artifact_count"], item["artifacts"], _, _ = counted(t, item["name"].(string), item["version"].(string))
			} else {
				countHostile(item)
			}
			if item["name"] == "@acme/code-review" {
				output["dependencies_resolved"] = float64(2) // the resolution contains the package and its dependency report-templates
			}
			if strings.HasPrefix(item["name"].(string), "cycle-") {
				output["dependencies_resolved"] = float64(2)
			}
			if item["name"] == "audit-kit" {
				output["dependencies_resolved"] = float64(2)
			}
		}
		for _, item := range output["failed"].([]any) {
			item.(map[string]any)["code"] = "AAM_ARCHIVE_INVALID" // the expected answers with another code are in meant
		}
	case "aam_doctor":
		diagnosed(output)
	}
}

func countHostile(item map[string]any) {
	item["artifact_count"], item["artifacts"] = float64(1), map[string]any{"prompts": float64(1)}
	if item["name"] == "quotes-in-description" {
		item["artifacts"] = map[string]any{"instructions": float64(1)}
	}
}

// searched converts search results from the form of a newer aam program to the form of the contract.
func searched(t *testing.T, results []any) any {
	rows := []any{}
	for _, result := range results {
		result := result.(map[string]any)
		_, _, types, author := counted(t, result["name"].(string), result["version"].(string))
		rows = append(rows, map[string]any{"name": result["name"], "version": result["version"], "description": result["description"], "author": author, "artifact_types": types, "registry": result["origin"]})
	}
	return rows
}

// diagnosed adds the check packages_integrity to a recorded report, and replaces the summary by one in the wording of
// the contract.
func diagnosed(output map[string]any) {
	integrity := "pass"
	var checks []any
	for _, check := range output["checks"].([]any) {
		check := check.(map[string]any)
		if strings.HasPrefix(check["name"].(string), "package_") && check["status"] != "pass" {
			integrity = "warn"
		}
		if check["name"] == "incomplete_install" {
			checks = append(checks, map[string]any{"name": "packages_integrity", "status": integrity})
		}
		checks = append(checks, check)
	}
	n := map[any]int{}
	for _, check := range checks {
		n[check.(map[string]any)["status"]]++
	}
	plural := "s"
	if n["warn"] == 1 {
		plural = ""
	}
	output["checks"], output["summary"] = checks, fmt.Sprintf("%d passed, %d warning%s, %d failed", n["pass"], n["warn"], plural, n["fail"])
}

// withoutWords removes values from an answer that the test does not compare. These are texts for people, which must
// exist, and values that depend on the bytes of an archive.
func withoutWords(t *testing.T, answer any) any {
	object, ok := answer.(map[string]any)
	if !ok {
		return answer
	}
	for _, key := range []string{"failed", "checks"} {
		list, _ := object[key].([]any)
		for _, item := range list {
			item := item.(map[string]any)
			if text, ok := item["message"]; ok && text == "" {
				t.Errorf("no message: %v", item)
			}
			for _, word := range []string{"message", "hint", "details", "suggestion"} {
				delete(item, word)
			}
		}
	}
	for _, key := range []string{"errors", "warnings"} {
		list, _ := object[key].([]any)
		for i, text := range list {
			list[i], _, _ = strings.Cut(text.(string), ":")
		}
	}
	if _, ok := object["archive_size"]; ok {
		delete(object, "archive_size")
		delete(object, "checksum")
	}
	return object
}
