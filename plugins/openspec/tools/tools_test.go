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
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
)

// newHost returns a host whose project is a copy of the project in testdata, and the path of the copy.
func newHost(t *testing.T) (*sdktest.Host, string) {
	t.Helper()
	input, err := filepath.Abs(filepath.Join("..", "testdata", "branch", "input"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := filepath.Abs(filepath.Join("..", "plugin.toml"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(root, os.DirFS(input)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(root)
	t.Setenv("BULKHEAD_PROJECT", root)
	p := sdk.New()
	tools.Register(p)
	return sdktest.New(t, p, manifest), root
}

// call calls a tool and returns the decoded JSON of the result. It fails the test unless the text and the structured
// content are equal.
func call(t *testing.T, host *sdktest.Host, tool, arguments string) (answer map[string]any, isError bool) {
	t.Helper()
	result, err := host.CallTool(tool, arguments)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, arguments, err)
	}
	var text, structured map[string]any
	if err := errors.Join(json.Unmarshal([]byte(result.Text()), &text), json.Unmarshal(result.Structured, &structured)); err != nil {
		t.Fatalf("%s %s: %v in %s", tool, arguments, err, result.Raw)
	}
	if diff := cmp.Diff(text, structured); diff != "" {
		t.Errorf("%s: the text is not the structured content:\n%s", tool, diff)
	}
	if !strings.HasPrefix(result.Text(), "{\n  \"") {
		t.Errorf("%s: the text is not indented by two spaces: %.40q", tool, result.Text())
	}
	return text, result.IsError
}

func TestEachToolAnswers(t *testing.T) {
	for _, test := range []struct{ tool, arguments, has string }{
		{"openspec_list", ``, `"changes":[{`},
		{"openspec_list", `{"type": "specs"}`, `"specs":[{"id":"desk/opening-hours"`},
		{"openspec_list", `{"type": "archived"}`, `"archived":[{"change":"first","completedTasks":1,"date":"2025-12-01"`},
		{"openspec_list_changes", `{"sort": "name"}`, `"changes":[{"completedTasks":1,"lastModified"`},
		{"openspec_show", `{"id": "lending", "requirement": 2}`, `"requirementCount":1`},
		{"openspec_show", `{"name": "lending", "scenarios": false}`, `"scenarios":[]`},
		{"openspec_show", `{"name": "add-fines", "type": "change", "diff": true}`, `"diff":"@@`},
		{"openspec_validate", ``, `"totals":{"failed":3,"items":6,"passed":3}`},
		{"openspec_validate", `{"name": "tidy", "strict": true}`, `"valid":true`},
		{"openspec_status", `{"change": "add-fines"}`, `"nextSteps":["Call openspec_instructions(artifact: \"design\", change: \"add-fines\")`},
		{"openspec_status", ``, `"changes":[{`},
		{"openspec_instructions", `{"change": "add-fines", "artifact": "design"}`, `"unlocks":["tasks"]`},
		{"openspec_instructions", `{"change": "add-fines", "artifact": "apply"}`, `"state":"`},
		{"openspec_instructions", `{"change": "add-fines", "artifact": "archive"}`, `"changeName":"add-fines"`},
		{"openspec_init", `{"tools": ["x"]}`, `"extendMode":true`},
		{"openspec_create_change", `{"name": "add-y"}`, `"id":"add-y"`},
		{"openspec_archive", `{"name": "add-fines"}`, `"specsUpdated":true`},
	} {
		t.Run(test.tool+" "+test.arguments, func(t *testing.T) {
			host, _ := newHost(t)
			answer, isError := call(t, host, test.tool, test.arguments)
			text, err := json.Marshal(answer)
			if err != nil || isError || !strings.Contains(string(text), test.has) {
				t.Errorf("%s has no %s", text, test.has)
			}
		})
	}
}

func TestShowMarkdownReturnsFile(t *testing.T) {
	host, root := newHost(t)
	result, err := host.CallTool("openspec_show", `{"name": "lending", "format": "markdown"}`)
	want, err2 := os.ReadFile(filepath.Join(root, "openspec/specs/lending/spec.md"))
	if err := errors.Join(err, err2); err != nil || result.Text() != string(want) || result.Structured != nil {
		t.Errorf("%v, %s", err, result.Raw)
	}
}

func TestFailureIsResultWithStatus(t *testing.T) {
	host, _ := newHost(t)
	answer, isError := call(t, host, "openspec_show", `{"name": "lendnig"}`)
	status := answer["status"].([]any)[0].(map[string]any)
	if !isError || status["code"] != "unknown_item" || !strings.HasPrefix(status["message"].(string), "Unknown item 'lendnig'. Did you mean: lending") {
		t.Errorf("got %v", answer)
	}
	if _, isError := call(t, host, "openspec_validate", `{}`); isError {
		t.Error("a validation with issues is not a failure")
	}
}

func TestSchemaRefusesInvalidArguments(t *testing.T) {
	host, _ := newHost(t)
	for _, test := range []struct{ tool, arguments string }{
		{"openspec_list", `{"kind": "specs"}`},
		{"openspec_show", `{"name": "lending", "type": "Spec"}`},
		{"openspec_show", `{"name": "lending", "requirement": "two"}`},
		{"openspec_show", `{"name": "lending", "requirement": 0}`},
		{"openspec_archive", `{}`},
		{"openspec_archive", `{"name": "x", "yes": "no"}`},
	} {
		if result, err := host.CallTool(test.tool, test.arguments); err == nil {
			t.Errorf("%s %s: %s", test.tool, test.arguments, result.Raw)
		}
	}
}

func TestWritesLockProjectAndNotifyClient(t *testing.T) {
	host, root := newHost(t)
	call(t, host, "openspec_list", ``)
	if n := len(host.Locks()) + len(host.Notifications()); n != 0 {
		t.Errorf("a list took a lock or sent a notification")
	}
	call(t, host, "openspec_archive", `{"name": "add-fines"}`)
	if len(host.Locks()) != 1 || !slices.Equal(host.LockedFolders(), []string{root}) {
		t.Errorf("locks: %q, directories: %q", host.Locks(), host.LockedFolders())
	}
	var sent []string
	for _, one := range host.Notifications() {
		sent = append(sent, one.Method+" "+string(one.Params))
	}
	for _, want := range []string{
		`notifications/resources/updated {"uri":"openspec://specs/lending"}`,
		`notifications/resources/updated {"uri":"openspec://specs/accounts"}`,
		`notifications/resources/updated {"uri":"openspec://changes"}`,
		`notifications/resources/list_changed {}`,
	} {
		if !slices.Contains(sent, want) {
			t.Errorf("%q is not among %q", want, sent)
		}
	}
	before := len(host.Notifications())
	call(t, host, "openspec_archive", `{"name": "drop-list"}`)
	if len(host.Notifications()) != before {
		t.Error("a refused archive sent a notification")
	}
}

func TestHostWithoutLocksOrNotificationsWorks(t *testing.T) {
	host, _ := newHost(t)
	unavailable := func(json.RawMessage) (any, error) { return nil, &abi.HostError{Code: abi.HostUnavailable} }
	host.Handle(abi.OpLock, unavailable)
	host.Handle(abi.OpNotify, unavailable)
	if answer, isError := call(t, host, "openspec_create_change", `{"name": "add-y"}`); isError {
		t.Errorf("got %v", answer)
	}
}

func TestNameIsLockedIfDirectoryCannotBe(t *testing.T) {
	host, _ := newHost(t)
	var asked []string
	host.Handle(abi.OpLock, func(params json.RawMessage) (any, error) {
		var lock abi.Lock
		if err := json.Unmarshal(params, &lock); err != nil {
			return nil, err
		}
		asked = append(asked, lock.Folder)
		if lock.Folder != "" {
			return nil, &abi.HostError{Code: abi.HostDenied}
		}
		return nil, nil
	})
	if answer, isError := call(t, host, "openspec_create_change", `{"name": "add-y"}`); isError || len(asked) != 2 {
		t.Errorf("%q, %v", asked, answer)
	}
}

func TestFailedLockFailsCall(t *testing.T) {
	host, root := newHost(t)
	host.Handle(abi.OpLock, func(json.RawMessage) (any, error) { return nil, errors.New("no place for state") })
	result, err := host.CallTool("openspec_create_change", `{"name": "add-y"}`)
	if err != nil || !result.IsError || !strings.Contains(result.Text(), "lock the project") {
		t.Errorf("%v, %v", result, err)
	}
	if _, err := os.Stat(filepath.Join(root, "openspec/changes/add-y")); err == nil {
		t.Error("the refused call created the change nevertheless")
	}
}

// claim is the claim of a call that was killed before it changed any other file.
const claim = `{"bulkhead-openspec":1,"owner":"e3b0c44298fc1c14","token":"0123456789abcdef","change":"add-fines","archived":"2026-01-01-add-fines","specs":[],"newFolders":null}`

func TestNextCallRecoversKilledCall(t *testing.T) {
	for _, tool := range []string{"openspec_list", "openspec_init"} {
		t.Run(tool, func(t *testing.T) {
			host, root := newHost(t)
			t.Setenv("BULKHEAD_STATE", "")
			path := filepath.Join(root, "openspec/changes/archive/.openspec-archive.lock")
			if err := os.WriteFile(path, []byte(claim), 0o644); err != nil {
				t.Fatal(err)
			}
			call(t, host, tool, `{}`)
			if _, err := os.Stat(path); err == nil {
				t.Error("the claim file still exists after the recovery")
			}
		})
	}
}

// TestEmptyArchiveDirectoryDoesNotChangeResults checks that an empty archive directory has no effect. So no recovery is
// needed after a call that was killed right after it had created the directory.
func TestEmptyArchiveDirectoryDoesNotChangeResults(t *testing.T) {
	host, root := newHost(t)
	archive := filepath.Join(root, "openspec/changes/archive")
	if err := os.RemoveAll(archive); err != nil {
		t.Fatal(err)
	}
	reads := []struct{ tool, arguments string }{
		{"openspec_list", `{}`},
		{"openspec_list", `{"type": "specs"}`},
		{"openspec_list", `{"type": "archived"}`},
		{"openspec_list_changes", `{}`},
		{"openspec_show", `{"name": "lending"}`},
		{"openspec_show", `{"name": "add-fines"}`},
		{"openspec_show", `{"name": "archive"}`},
		{"openspec_show", `{"name": "archive", "type": "change"}`},
		{"openspec_validate", `{}`},
		{"openspec_validate", `{"name": "archive", "type": "change"}`},
		{"openspec_validate", `{"archived": true}`},
		{"openspec_create_change", `{"name": "archive"}`},
		{"openspec_archive", `{"name": "archive"}`},
		{"openspec_archive", `{"name": "none"}`},
	}
	answers := func() map[string]any {
		all := map[string]any{"resources": listURIs(t, host)}
		for _, read := range reads {
			all[read.tool+read.arguments], _ = call(t, host, read.tool, read.arguments)
		}
		for _, uri := range []string{"openspec://archive", "openspec://changes"} {
			all[uri] = request[resourceList](t, host, abi.MethodResourcesRead, map[string]string{"uri": uri})
		}
		return all
	}
	without := answers()
	if err := os.Mkdir(archive, 0o755); err != nil {
		t.Fatal(err)
	}
	took := cmpopts.IgnoreMapEntries(func(key string, _ any) bool { return key == "durationMs" })
	if diff := cmp.Diff(without, answers(), took); diff != "" {
		t.Errorf("answers without and with an empty archive directory (-without +with)\n%s", diff)
	}
	if answer, isError := call(t, host, "openspec_archive", `{"name": "add-fines"}`); isError {
		t.Errorf("an empty archive directory prevents an archive: %v", answer)
	}
}
