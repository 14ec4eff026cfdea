package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// addresses contains valid and mistyped addresses with the password s3cr3t-token. The key describes the address.
var addresses = map[string]string{
	"of ssh":                            "user:s3cr3t-token@host:/path",
	"of git":                            "git:s3cr3t-token@host.example.org:a/b.git",
	"of ssh, with @ and /":              "git:x@s3cr3t-token/y@host:a/b",
	"without a scheme":                  "//user:s3cr3t-token@host/path",
	"with half a scheme":                "https:user:s3cr3t-token@host",
	"with a slash too few":              "https:/user:s3cr3t-token@host",
	"with capitals":                     "HTTPS://user:s3cr3t-token@host",
	"of another scheme":                 "ssh://user:s3cr3t-token@host",
	"with a scheme behind it":           "user:s3cr3t-token@host://path",
	"of a file":                         "file://user:s3cr3t-token@host/path",
	"of a file, with slashes":           "file:////user:s3cr3t-token@host/path",
	"with @ in it":                      "https://user:p@s3cr3t-token@host/path",
	"with / in it":                      "https://user:p/s3cr3t-token@host/path",
	"with @ and / in it":                "https://user:p@x/s3cr3t-token@host/path",
	"with a number before the /":        "https://user:12/s3cr3t-token@host/path",
	"with a token for a user":           "https://x/s3cr3t-token@host/path",
	"escaped":                           "https://user%3As3cr3t-token%40host/path",
	"all of it escaped":                 "https%3A%2F%2Fuser%3As3cr3t-token%40host",
	"below a directory":                 "/srv/user:s3cr3t-token@host",
	"longer than the quoted part":       "user:s3cr3t-token" + strings.Repeat("x", 300) + "@host:/path",
	"a URL longer than the quoted part": "https://user:s3cr3t-token" + strings.Repeat("x", 300) + "@host/path",
	"with a comma, as between texts":    "kit@user:s3cr3t-token,x@host:/path",
	"as a scope's":                      "@user:s3cr3t-token/x@host",
}

// TestArgumentsDoNotLeakPasswords passes each address as each string argument of each tool.
func TestArgumentsDoNotLeakPasswords(t *testing.T) {
	for name, address := range addresses {
		t.Run(name, func(t *testing.T) {
			w := stocked(t)
			for _, call := range [][]any{
				{"aam_registry_add", "name", "x", "url", address}, {"aam_registry_add", "name", address, "url", "/nowhere"},
				{"aam_registry_add", "name", address, "url", w.path("registry")}, {"aam_registry_list"},
				{"aam_config_set", "key", address, "value", "x"}, {"aam_config_set", "key", "security.require_checksum", "value", address},
				{"aam_config_set", "key", "author.name", "value", address}, {"aam_config_get"}, {"aam_config_get", "key", address},
				{"aam_install", "packages", specs(address)}, {"aam_install", "packages", specs("kit@" + address)}, {"aam_install", "packages", specs("kit"), "platform", address},
				{"aam_uninstall", "package_name", address}, {"aam_info", "package_name", address}, {"aam_info", "package_name", "kit", "version", address},
				{"aam_search", "query", address}, {"aam_search", "query", "", "package_type", address}, {"aam_search", "query", "", address, 1},
				{"aam_publish", "registry", address}, {"aam_publish", "tag", address}, {"aam_validate", "path", address},
				{"aam_create_package", "path", address}, {"aam_create_package", "name", address}, {"aam_create_package", "version", address},
				{"aam_create_package", "artifact_types", specs(address)}, {"aam_doctor"},
			} {
				look(t, string(w.result(call[0].(string), call[1:]...).Raw), call[0])
			}
			for _, uri := range []string{"aam://packages/" + strings.ReplaceAll(address, "/", "--"), "aam://" + address, address} {
				lookAtResource(t, w, uri)
			}
			lookAtLog(t, w)
		})
	}
}

// TestConfigurationDoesNotLeakPasswords uses each address as the value of several settings.
func TestConfigurationDoesNotLeakPasswords(t *testing.T) {
	all := map[string]string{"with a blank": "//user:s3cr3t-token and more@host/path", "a token alone": "//s3cr3t-token@host/path", "with a query": "host/api?token=s3cr3t-token"}
	for name, address := range addresses {
		all[name] = address
	}
	for name, address := range all {
		for _, kind := range []string{"local", "http", "git"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				w := stocked(t)
				w.write("home/.aam/config.yaml", fmt.Sprintf("registries:\n- {name: r, type: %s, url: '%s'}\nsources:\n- {name: s, url: '%[2]s'}\n", kind, address))
				for _, call := range [][]any{
					{"aam_registry_list"}, {"aam_registry_add", "name", "r", "url", "/nowhere"}, {"aam_config_get"}, {"aam_config_get", "key", "sources"}, {"aam_doctor"},
					{"aam_search", "query", ""}, {"aam_info", "package_name", "kit"}, {"aam_install", "packages", specs("kit")}, {"aam_publish"},
				} {
					look(t, string(w.result(call[0].(string), call[1:]...).Raw), call[0])
				}
				lookAtResource(t, w, "aam://registries")
				lookAtLog(t, w)
			})
		}
	}
}

// TestInvalidConfigurationDoesNotLeakPasswords checks that the messages of syntax errors do not quote the file.
func TestInvalidConfigurationDoesNotLeakPasswords(t *testing.T) {
	for i, text := range []string{
		"token: !!int s3cr3t-token", "token: !!float 's3cr3t-token'", "token: !!bool \"s3cr3t-token\"", "token: !!timestamp s3cr3t-token", "token: !!int \"a\\\" s3cr3t-token\"",
		"token: !!binary s3cr3t-token", "token: %s3cr3t-token", "%s3cr3t-token 1\n---\na: b", "token: @s3cr3t-token", "token: `s3cr3t-token", "token: \"\\qs3cr3t-token\"",
		"token: | s3cr3t-token", "token: s3cr3t-token: x", "token: 's3cr3t-token", "s3cr3t-token", "- s3cr3t-token", "{s3cr3t-token", "? [s3cr3t-token]\n: x",
		"token: !<s3cr3t-token> x", "%TAG ! s3cr3t-token\n---\nx: !a b", "%YAML s3cr3t-token\n---\n", "token: &a s3cr3t-token\n<<: *a", "token: [s3cr3t-token", "<<: s3cr3t-token",
		"registries: s3cr3t-token", "registries: [s3cr3t-token]", "security: s3cr3t-token", "security: {require_checksum: s3cr3t-token}", "sources: [{name: a, url: b, artifact_count: s3cr3t-token}]",
		"active_platforms: [{s3cr3t-token: 1}]", "registries: [{name: {s3cr3t-token: 1}, url: [s3cr3t-token]}]",
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) { // the subtest has a number as its name, because the paths of temporary directories contain that name
			w := stocked(t)
			w.enter("kit")
			w.write("kit/aam.yaml", strings.Replace(w.read("kit")["aam.yaml"], "1.0.0", "1.1.0", 1))
			w.mkdir("kit/.aam")
			for _, file := range []string{"home/.aam/config.yaml", "kit/.aam/config.yaml"} {
				before := w.read("home")[".aam/config.yaml"]
				w.write(file, text+"\n")
				for _, call := range [][]any{
					{"aam_config_get"}, {"aam_registry_list"}, {"aam_doctor"}, {"aam_search", "query", ""}, {"aam_info", "package_name", "kit"}, {"aam_install", "packages", specs("kit")},
					{"aam_publish"}, {"aam_config_set", "key", "author.name", "value", "x"}, {"aam_registry_add", "name", "x", "url", w.path("registry")},
				} {
					look(t, string(w.result(call[0].(string), call[1:]...).Raw), call[0])
				}
				lookAtResource(t, w, "aam://config")
				w.write("home/.aam/config.yaml", before)
			}
			lookAtLog(t, w)
		})
	}
}

func lookAtResource(t *testing.T, w *world, uri string) {
	t.Helper()
	raw, err := w.host.Request(abi.MethodResourcesRead, map[string]string{"uri": uri})
	if err != nil {
		look(t, err.Error(), "a resource")
	}
	look(t, string(raw), "a resource")
}

func lookAtLog(t *testing.T, w *world) {
	t.Helper()
	for _, line := range w.host.Log() {
		look(t, line, "the log")
	}
}

// TestPathsWithAtSignAreNotMasked checks that an @ without a password is not masked in paths and names.
func TestPathsWithAtSignAreNotMasked(t *testing.T) {
	w := newWorld(t)
	for _, folder := range []string{"a@b/registry", "@team/registry", "project/kit@1.0.0"} {
		w.mkdir(folder)
	}
	for name, url := range map[string]string{"plain": w.path("a@b/registry"), "file": "file://" + w.path("@team/registry"), "relative": "./kit@1.0.0", "bare": "kit@1.0.0"} {
		if got := get[object](w, "aam_registry_add", "name", name, "url", url); got["url"] != url {
			t.Errorf("%s: got %v", url, got)
		}
	}
	shown := w.result("aam_registry_list").Text() + w.result("aam_doctor").Text() + w.result("aam_config_get").Text()
	for _, url := range []string{"file://" + w.path("a@b/registry"), "file://" + w.path("@team/registry"), "file://" + w.path("project/kit@1.0.0")} {
		if strings.Count(shown, url) < 2 || !strings.Contains(shown, "accessible at "+strings.TrimPrefix(url, "file://")) {
			t.Errorf("the result does not show %s: %s", url, shown)
		}
	}
	if text := w.fails("AAM_PACKAGE_NOT_FOUND", "aam_info", "package_name", "@acme/kit", "version", "1.0.0"); !strings.Contains(text, "@acme/kit@1.0.0") {
		t.Errorf("got %s", text)
	}
}
