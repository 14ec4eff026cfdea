package tools_test

import (
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// secrets contains strings that must not occur in any result, error or log.
var secrets = []string{"s3cr3t-token", "abcdef123456", "fr4gment", "gh0-source", "cr3dentials"}

const withSecrets = `registries:
- name: private
  url: https://user:s3cr3t-token@registry.example.org/api?token=abcdef123456#fr4gment
  type: http
  default: true
- name: odd
  url: 'https://user:s3cr3t-token/with@registry.example.org'
  type: local
sources:
- name: mine
  url: https://gh0-source@git.example.org/x
security: {require_checksum: true}
default_platform: https://u:s3cr3t-token@x.example.org
`

// TestSecretsAreNotShown makes successful and failing calls of every tool, with secrets in the configuration.
func TestSecretsAreNotShown(t *testing.T) {
	calls := [][]any{
		{"aam_config_get"}, {"aam_config_get", "key", "registries"}, {"aam_config_get", "key", "sources"}, {"aam_config_get", "key", "default_platform"}, {"aam_config_get", "key", "nope"},
		{"aam_registry_list"}, {"aam_search", "query", ""}, {"aam_info", "package_name", "nope"}, {"aam_list"}, {"aam_doctor"}, {"aam_validate"},
		{"aam_install", "packages", specs("nope")}, {"aam_uninstall", "package_name", "nope"},
		{"aam_registry_add", "name", "x", "url", "https://u:s3cr3t-token@example.org?token=abcdef123456"},
		{"aam_registry_add", "name", "x", "url", "ssh://u:s3cr3t-token@example.org"},
		{"aam_registry_add", "name", "https://u:s3cr3t-token@example.org", "url", "/nowhere"},
		{"aam_config_set", "key", "https://u:s3cr3t-token@example.org", "value", "x"},
		{"aam_config_set", "key", "author.name", "value", "https://u:s3cr3t-token@example.org"},
		{"aam_publish"}, {"aam_publish", "registry", "private"}, {"aam_create_package"},
	}
	broken := map[string]string{
		"no YAML":        withSecrets + "a: [\n",
		"a wrong type":   withSecrets + "active_platforms: https://u:s3cr3t-token@x.example.org\n",
		"a wrong number": strings.Replace(withSecrets, "require_checksum: true", "require_checksum: s3cr3t-token", 1),
		"a tag":          withSecrets + "token: !s3cr3t-token\n",
		"an alias":       withSecrets + "token: *s3cr3t-token\n",
		"an anchor":      withSecrets + "token: &s3cr3t-token [*s3cr3t-token]\n",
	}
	configs := map[string]string{"as it is": withSecrets}
	for name, text := range broken {
		configs[name] = text
	}
	for name, text := range configs {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("home/.aam/credentials.yaml", "token: cr3dentials\n")
			w.write("project/aam.yaml", "name: pkg\nversion: 1.0.0\ndescription: d\nrepository: https://u:s3cr3t-token@e.org\nartifacts: {prompts: [{name: p, path: p.md, description: d}]}\n")
			w.write("project/p.md", "x")
			w.mkdir("project/.aam")
			seen := 0
			for _, call := range calls {
				w.write("home/.aam/config.yaml", text)
				result := w.result(call[0].(string), call[1:]...)
				look(t, string(result.Raw), call)
				seen += strings.Count(string(result.Raw), "***")
			}
			for _, uri := range []string{"aam://config", "aam://registries", "aam://packages/installed", "aam://manifest", "aam://packages/pkg"} {
				raw, err := w.host.Request(abi.MethodResourcesRead, map[string]string{"uri": uri})
				if err != nil {
					look(t, err.Error(), uri)
				}
				look(t, string(raw), uri)
			}
			for _, line := range w.host.Log() {
				look(t, line, "the log")
			}
			if seen == 0 && name == "as it is" {
				t.Error("no secret was masked, so the test checks nothing")
			}
		})
	}
}

func look(t *testing.T, text string, where any) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%v shows %q: %s", where, secret, text)
		}
	}
}

func TestRealSecretsAreNotShown(t *testing.T) {
	w := realWorld(t, "with-secrets", "")
	for _, call := range [][]any{{"aam_config_get"}, {"aam_config_get", "key", "registries"}, {"aam_registry_list"}, {"aam_search", "query", "x"}, {"aam_doctor"}} {
		look(t, string(w.result(call[0].(string), call[1:]...).Raw), call)
	}
	want := `[{"name":"private","url":"https://***@registry.example.org/api?token=***","type":"http","is_default":true,"accessible":false}]`
	if got := w.result("aam_registry_list").Text(); got != want {
		t.Errorf("got %s", got)
	}
}

func TestRefusedFilesHaveCodes(t *testing.T) {
	w := newWorld(t)
	w.mkdir("project/.aam")
	w.mkdir("registry")
	w.write("home/.aam/config.yaml", "registries: [{name: r, url: 'file://"+w.path("registry")+"'}]\n")
	w.host.Handle(abi.OpFSMode, func(json.RawMessage) (any, error) {
		return nil, &abi.HostError{Code: abi.HostDenied, Message: "not granted"}
	})
	w.fails("AAM_PERMISSION_DENIED", "aam_config_set", "key", "author.name", "value", "x")
	w.host.Handle(abi.OpFSMode, fileMode)
	t.Setenv("HOME", "")
	w.fails("AAM_PERMISSION_DENIED", "aam_config_set", "key", "author.name", "value", "x")
	w.fails("AAM_PERMISSION_DENIED", "aam_registry_add", "name", "x", "url", w.path("registry"))
}

func TestProbing(t *testing.T) {
	w := newWorld(t)
	var asked []string
	w.host.Handle(abi.OpHTTPFetch, func(params json.RawMessage) (any, error) {
		var request abi.HTTPRequest
		if err := json.Unmarshal(params, &request); err != nil {
			return nil, err
		}
		asked = append(asked, request.Method+" "+request.URL)
		return abi.HTTPResponse{Status: 404}, nil
	})
	want := `{"name":"web","url":"https://registry.example.org","type":"http","is_default":false,"accessible":true}`
	if got := w.result("aam_registry_add", "name", "web", "url", "https://registry.example.org").Text(); got != want {
		t.Errorf("got %s", got)
	}
	if got := get[[]object](w, "aam_registry_list"); got[0]["accessible"] != true {
		t.Errorf("got %v", got)
	}
	if len(asked) != 2 || asked[0] != "HEAD https://registry.example.org" {
		t.Errorf("asked %v", asked)
	}
}

func TestResources(t *testing.T) {
	w := newWorld(t)
	w.mkdir("project/.aam")
	w.mkdir("registry")
	w.write("project/prompts/p.md", "x")
	read := func(uri string) string {
		t.Helper()
		raw, err := w.host.Request(abi.MethodResourcesRead, map[string]string{"uri": uri})
		if err != nil {
			return "! " + err.Error()
		}
		var got struct {
			Contents []struct{ URI, MimeType, Text string }
		}
		if err := json.Unmarshal(raw, &got); err != nil || len(got.Contents) != 1 || got.Contents[0].URI != uri || got.Contents[0].MimeType != "application/json" {
			t.Fatalf("%s: %v in %s", uri, err, raw)
		}
		return got.Contents[0].Text
	}
	if got := read("aam://manifest"); got != "null" {
		t.Errorf("no manifest: got %s", got)
	}
	get[object](w, "aam_registry_add", "name", "r", "url", w.path("registry"))
	get[object](w, "aam_create_package", "name", "@me/pkg")
	get[object](w, "aam_publish")
	get[object](w, "aam_install", "packages", specs("@me/pkg"))
	for uri, tool := range map[string][]any{
		"aam://packages/installed": {"aam_list"}, "aam://registries": {"aam_registry_list"}, "aam://packages/me--pkg": {"aam_info", "package_name", "@me/pkg"},
	} {
		if got, want := read(uri), w.result(tool[0].(string), tool[1:]...).Text(); got != want {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
	if got := read("aam://config"); !strings.HasPrefix(got, `{"default_platform":"cursor",`) {
		t.Errorf("got %s", got)
	}
	if got := read("aam://manifest"); !strings.HasPrefix(got, `{"name":"@me/pkg","version":"0.1.0",`) {
		t.Errorf("got %s", got)
	}
	for uri, want := range map[string]string{"aam://packages/nope": "null", "aam://packages/BAD": "null"} {
		if got := read(uri); got != want {
			t.Errorf("%s: got %s", uri, got)
		}
	}
	for _, uri := range []string{"aam://sources", "aam://packages/", "aam://packages/a/b", "file:///etc/passwd", ""} {
		if got := read(uri); !strings.HasPrefix(got, "! ") || !strings.Contains(got, "no such resource") {
			t.Errorf("%s: got %s", uri, got)
		}
	}
	for text, want := range map[string]string{"a: [": `{"error":"line 2`, "a: .nan": `{"error":"`} {
		w.write("project/aam.yaml", text)
		if got := read("aam://manifest"); !strings.HasPrefix(got, want) {
			t.Errorf("%q: got %s", text, got)
		}
	}
	w.write("home/.aam/config.yaml", "a: [")
	if got := read("aam://config"); !strings.Contains(got, "[AAM_INTERNAL_ERROR]") {
		t.Errorf("got %s", got)
	}
	var listed struct{ Resources []struct{ URI string } }
	raw, err := w.host.Request(abi.MethodResourcesList, struct{}{})
	if err != nil || json.Unmarshal(raw, &listed) != nil || len(listed.Resources) != 4 {
		t.Errorf("listed: %s, %v", raw, err)
	}
	raw, err = w.host.Request(abi.MethodResourcesTemplatesList, struct{}{})
	if err != nil || !strings.Contains(string(raw), `"uriTemplate":"aam://packages/{name}"`) {
		t.Errorf("templates: %s, %v", raw, err)
	}
}

// TestReadingWritesNothing checks that the read-only tools create no files.
func TestReadingWritesNothing(t *testing.T) {
	w := newWorld(t)
	for _, call := range [][]any{{"aam_search", "query", ""}, {"aam_list"}, {"aam_validate"}, {"aam_config_get"}, {"aam_registry_list"}, {"aam_doctor"}} {
		get[any](w, call[0].(string), call[1:]...)
	}
	err := filepath.WalkDir(w.root, func(path string, _ fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(w.root, path); name != "." && name != "home" && name != "project" {
			t.Errorf("%s was created", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
