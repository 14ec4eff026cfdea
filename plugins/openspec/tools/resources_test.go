package tools_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/prompts"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// request sends a request to the plugin and decodes the result.
func request[T any](t *testing.T, host *sdktest.Host, method string, params any) T {
	t.Helper()
	raw, err := host.Request(method, params)
	if err != nil {
		t.Fatalf("%s %v: %v", method, params, err)
	}
	var result T
	if err := json.Unmarshal(raw, &result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return result
}

type resourceList struct {
	Resources         []struct{ URI, Name, MIMEType string }
	ResourceTemplates []struct{ URITemplate string }
	Contents          []struct{ URI, MIMEType, Text string }
}

func listURIs(t *testing.T, host *sdktest.Host) []string {
	t.Helper()
	var uris []string
	for _, one := range request[resourceList](t, host, abi.MethodResourcesList, nil).Resources {
		uris = append(uris, one.URI)
	}
	return uris
}

func TestResourcesAreListedInOrder(t *testing.T) {
	host, _ := newHost(t)
	want := []string{
		"openspec://specs/desk/opening-hours", "openspec://specs/lending",
		"openspec://changes/add-fines", "openspec://changes/add-fines/proposal", "openspec://changes/add-fines/tasks",
		"openspec://changes/add-fines/specs/accounts", "openspec://changes/add-fines/specs/lending",
		"openspec://changes/drop-list", "openspec://changes/drop-list/proposal", "openspec://changes/drop-list/specs/lending",
		"openspec://changes/tidy", "openspec://changes/tidy/proposal",
		"openspec://changes/wrap",
		"openspec://specs", "openspec://changes", "openspec://archive",
	}
	uris := listURIs(t, host)
	if diff := cmp.Diff(want, uris); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, uri := range uris {
		read := request[resourceList](t, host, abi.MethodResourcesRead, map[string]string{"uri": uri}).Contents
		if len(read) != 1 || read[0].URI != uri || read[0].Text == "" {
			t.Errorf("%s: %+v", uri, read)
		}
	}
	if n := len(request[resourceList](t, host, abi.MethodResourcesTemplatesList, nil).ResourceTemplates); n != 13 {
		t.Errorf("the plugin offers %d resource templates", n)
	}
}

func TestReadReturnsFile(t *testing.T) {
	host, root := newHost(t)
	for uri, name := range map[string]string{
		"openspec://specs/lending":                   "specs/lending/spec.md",
		"OpenSpec://specs/desk/opening%2Dhours":      "specs/desk/opening-hours/spec.md",
		"openspec://changes/add-fines/specs/lending": "changes/add-fines/specs/lending/spec.md",
		"openspec://changes/add-fines/tasks":         "changes/add-fines/tasks.md",
		"openspec://archive/2025-12-01-first/tasks":  "changes/archive/2025-12-01-first/tasks.md",
	} {
		want, err := os.ReadFile(filepath.Join(root, "openspec", name))
		if err != nil {
			t.Fatal(err)
		}
		read := request[resourceList](t, host, abi.MethodResourcesRead, map[string]string{"uri": uri}).Contents[0]
		if read.Text != string(want) || read.MIMEType != "text/markdown" || read.URI != uri {
			t.Errorf("%s: %+v", uri, read)
		}
	}
}

// refusal reads a resource and returns the error, which is expected.
func refusal(t *testing.T, host *sdktest.Host, uri string) *abi.Error {
	t.Helper()
	_, err := host.Request(abi.MethodResourcesRead, map[string]string{"uri": uri})
	refused := (*abi.Error)(nil)
	if !errors.As(err, &refused) {
		t.Fatalf("%q: got %v", uri, err)
	}
	return refused
}

func TestInvalidURIsAreRefusedWithoutFileAccess(t *testing.T) {
	host, root := newHost(t)
	if err := os.RemoveAll(filepath.Join(root, "openspec")); err != nil { // an invalid URI must be refused even if the project has no files
		t.Fatal(err)
	}
	for uri, message := range map[string]string{
		"openspec://specs/..":                            "Invalid spec id",
		"openspec://specs/%2e%2e/x":                      "Invalid spec id",
		"openspec://specs/a%2Fb":                         "Invalid spec id",
		"openspec://specs/a%5Cb":                         "Invalid spec id",
		"openspec://specs/a\\b":                          "Invalid spec id",
		"openspec://specs/a..b":                          "Invalid spec id",
		"openspec://specs/":                              "Invalid spec id",
		"openspec://specs//etc/passwd":                   "Invalid spec id",
		"openspec://specs/a%00":                          "Invalid spec id",
		"openspec://specs/a%":                            "Invalid spec id",
		"openspec://specs/%ff":                           "Invalid spec id",
		"openspec://specs/.git":                          "Invalid spec id",
		"openspec://changes/x/../y/proposal":             "Invalid URI: openspec://changes/x/../y/proposal",
		"openspec://changes/../x":                        "Invalid change name",
		"openspec://changes/archive":                     "Invalid change name",
		"openspec://changes/x/specs/..":                  "Invalid capability",
		"openspec://changes/x/specs/":                    "Invalid capability",
		"openspec://changes/x/tasks/y":                   "Invalid URI: openspec://changes/x/tasks/y",
		"openspec://archive/..":                          "Invalid change name",
		"openspec://specs/a?x":                           "Invalid URI: openspec://specs/a?x",
		"openspec://specs/a#x":                           "Invalid URI: openspec://specs/a#x",
		"openspec://other":                               "Invalid URI: openspec://other",
		"openspec://project/x":                           "Invalid URI: openspec://project/x",
		"file:///etc/passwd":                             "Invalid URI: file:///etc/passwd",
		"openspec:specs":                                 "Invalid URI: openspec:specs",
		"openspec://\n":                                  `Invalid URI: openspec://\n`,
		"openspec://specs/" + strings.Repeat("a/", 3000): "Invalid URI: openspec://specs/" + strings.Repeat("a/", 91) + "a…",
	} {
		if got := refusal(t, host, uri); got.Code != abi.CodeInvalidParams || got.Message != message {
			t.Errorf("%.60q: got %v, want %s", uri, got, message)
		}
	}
}

func TestResourceAppearsWhenFileIsCreated(t *testing.T) {
	host, root := newHost(t)
	got := refusal(t, host, "openspec://specs/nope")
	if got.Code != abi.CodeResourceNotFound || got.Message != "Resource not found: openspec://specs/nope" || string(got.Data) != `{"uri":"openspec://specs/nope"}` {
		t.Errorf("got %+v", got)
	}
	got = refusal(t, host, "OpenSpec://specs/n%6Fp e")
	if got.Code != abi.CodeResourceNotFound || got.Message != "Resource not found: openspec://specs/nop%20e" || string(got.Data) != `{"uri":"OpenSpec://specs/n%6Fp e"}` {
		t.Errorf("got %+v", got)
	}
	dir := filepath.Join(root, "openspec/specs/nope")
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "spec.md"), []byte("# x\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	if uris := listURIs(t, host); !slices.Contains(uris, "openspec://specs/nope") {
		t.Errorf("the list of resources lacks the new resource: %q", uris)
	}
}

func TestPrompts(t *testing.T) {
	host, _ := newHost(t)
	list := request[struct {
		Prompts []struct{ Name, Description string }
	}](t, host, abi.MethodPromptsList, nil).Prompts
	var names []string
	for _, one := range list {
		names = append(names, one.Name)
		if one.Description == "" {
			t.Errorf("%s has no description", one.Name)
		}
	}
	if diff := cmp.Diff([]string{"proposal", "apply", "archive"}, names); diff != "" {
		t.Errorf("53 (-want +got)\n%s", diff)
	}
	type got struct {
		Messages []struct {
			Role    string
			Content struct{ Type, Text string }
		}
	}
	for _, name := range names {
		result := request[got](t, host, abi.MethodPromptsGet, map[string]any{"name": name})
		if len(result.Messages) != 1 || result.Messages[0].Role != "user" || !strings.Contains(result.Messages[0].Content.Text, "<id>") {
			t.Errorf("%s: %+v", name, result)
		}
	}
	result := request[got](t, host, abi.MethodPromptsGet, map[string]any{"name": "apply", "arguments": map[string]string{"change": "add-x"}})
	if text := result.Messages[0].Content.Text; !strings.HasPrefix(text, "Change: add-x\n") || strings.Contains(text, "<id>") {
		t.Errorf("got %s", text)
	}
	for _, params := range []map[string]any{
		{"name": "nope"},
		{"name": "apply", "arguments": map[string]string{"change": "../x"}},
		{"name": "apply", "arguments": map[string]string{"id": "x"}},
		{"name": "proposal", "arguments": map[string]string{"description": "one\ntwo"}},
	} {
		_, err := host.Request(abi.MethodPromptsGet, params)
		if refused := (*abi.Error)(nil); !errors.As(err, &refused) || refused.Code != abi.CodeInvalidParams {
			t.Errorf("%v: got %v", params, err)
		}
	}
	if len(prompts.All()) != len(list) {
		t.Error("not all prompts are listed")
	}
}

func TestCompletion(t *testing.T) {
	host, _ := newHost(t)
	for _, test := range []struct {
		ref, argument, value string
		context              map[string]string
		want                 []string
	}{
		{"openspec://specs/{+id}", "id", "le", nil, []string{"lending"}},
		{"openspec://specs/{+id}", "id", "x", nil, []string{}},
		{"openspec://changes/{id}/tasks", "id", "", nil, []string{"add-fines", "drop-list", "tidy", "wrap"}},
		{"openspec://archive/{name}", "name", "2025", nil, []string{"2025-12-01-first"}},
		{"openspec://changes/{id}/specs/{+capability}", "capability", "", map[string]string{"id": "add-fines"}, []string{"accounts", "lending"}},
		{"openspec://changes/{id}/specs/{+capability}", "capability", "", map[string]string{"id": "../.."}, []string{}},
		{"openspec://changes/{id}/specs/{+capability}", "capability", "d", nil, []string{"desk/opening-hours"}},
		{"apply", "change", "t", nil, []string{"tidy"}},
		{"proposal", "description", "t", nil, []string{}},
	} {
		ref := map[string]string{"type": "ref/resource", "uri": test.ref}
		if !strings.Contains(test.ref, "://") {
			ref = map[string]string{"type": "ref/prompt", "name": test.ref}
		}
		got := request[struct{ Completion struct{ Values []string } }](t, host, abi.MethodComplete, map[string]any{
			"ref": ref, "argument": map[string]string{"name": test.argument, "value": test.value}, "context": map[string]any{"arguments": test.context}})
		if diff := cmp.Diff(test.want, got.Completion.Values); diff != "" {
			t.Errorf("%s %q (-want +got)\n%s", test.ref, test.value, diff)
		}
	}
}
