package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestLocks(t *testing.T) {
	w := newWorld(t)
	w.mkdir("project/.aam")
	w.mkdir("registry")
	w.write("project/prompts/p.md", "x")
	count, folders := map[string]int{}, map[string][]string{}
	for _, call := range [][]any{
		{"aam_list"}, {"aam_doctor"}, {"aam_search", "query", "x"},
		{"aam_registry_add", "name", "r", "url", w.path("registry")}, {"aam_config_set", "key", "author.name", "value", "x"}, {"aam_create_package", "name", "pkg"},
		{"aam_publish"}, {"aam_install", "packages", specs("pkg")}, {"aam_uninstall", "package_name", "pkg"},
	} {
		before, held := len(w.host.Locks()), len(w.host.LockedFolders())
		if result := w.result(call[0].(string), call[1:]...); result.IsError {
			t.Errorf("%v: %s", call, result.Text())
		}
		count[call[0].(string)] = len(w.host.Locks()) - before
		folders[call[0].(string)] = append([]string(nil), w.host.LockedFolders()[held:]...)
	}
	for tool, n := range count {
		if reads := tool == "aam_list" || tool == "aam_doctor" || tool == "aam_search"; reads != (n == 0) {
			t.Errorf("%s takes %d locks", tool, n)
		}
	}
	config, project, registry := []string{w.path("home/.aam")}, []string{w.path("project/.aam")}, []string{w.path("registry")}
	want := map[string][]string{
		"aam_list": nil, "aam_doctor": nil, "aam_search": nil, "aam_registry_add": config, "aam_config_set": config,
		"aam_create_package": {w.path("project")}, "aam_publish": registry, "aam_install": project, "aam_uninstall": project,
	}
	if diff := cmp.Diff(want, folders); diff != "" {
		t.Errorf("locked directories (-want +got)\n%s", diff)
	}
	w.host.Handle(abi.OpLock, func(json.RawMessage) (any, error) {
		return nil, &abi.HostError{Code: abi.HostFailed, Message: "no lock files"}
	})
	before := w.read("project")
	w.fails("AAM_INTERNAL_ERROR", "aam_install", "packages", specs("pkg"))
	if len(before) != len(w.read("project")) {
		t.Error("the package was installed without a lock")
	}
	w.host.Handle(abi.OpLock, func(json.RawMessage) (any, error) {
		return nil, &abi.HostError{Code: abi.HostUnavailable, Message: "no locks"}
	})
	get[object](w, "aam_install", "packages", specs("pkg"))
}

func TestLocksOfDirectories(t *testing.T) {
	for _, test := range []struct {
		name string
		do   func(w *world)
		want []string
	}{
		{"the lock of codex precedes, if it exists", func(w *world) {
			w.mkdir("project/.aam")
			w.mkdir("home/.codex")
			w.result("aam_install", "packages", specs("none"))
		}, []string{"home/.codex", "project/.aam"}},
		{"an absent workspace is not locked", func(w *world) {
			w.fails("AAM_PACKAGE_NOT_INSTALLED", "aam_uninstall", "package_name", "pkg")
		}, nil},
		{"that of the configuration is made, so that all who write the first one hold the same", func(w *world) {
			get[object](w, "aam_config_set", "key", "author.name", "value", "x")
		}, []string{"home/.aam"}},
		{"a read-only directory is not locked", func(w *world) {
			w.mkdir("home/.aam")
			var asked []string
			w.host.Handle(abi.OpLock, func(params json.RawMessage) (any, error) {
				var lock abi.Lock
				if err := json.Unmarshal(params, &lock); err != nil {
					return nil, err
				}
				asked = append(asked, lock.Folder)
				if lock.Folder != "" {
					return nil, &abi.HostError{Code: abi.HostDenied, Message: "not granted"}
				}
				return nil, nil
			})
			get[object](w, "aam_config_set", "key", "author.name", "value", "x")
			if diff := cmp.Diff([]string{w.path("home/.aam"), ""}, asked); diff != "" {
				w.t.Errorf("asked for (-want +got)\n%s", diff)
			}
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			test.do(w)
			var want []string
			for _, folder := range test.want {
				want = append(want, w.path(folder))
			}
			if diff := cmp.Diff(want, w.host.LockedFolders()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
