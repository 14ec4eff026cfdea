package output_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

func TestBuilder(t *testing.T) {
	var b output.Builder
	add := func(target, path, content string, origins ...output.Origin) {
		t.Helper()
		if err := b.Add(output.Key{Target: target, Path: path}, []byte(content), origins...); err != nil {
			t.Fatal(err)
		}
	}
	b.AddRoot(output.Root{Target: "b", Path: "/r", ScanExtras: true})
	b.AddRoot(output.Root{Target: "a", Path: "/r/sub"})
	b.AddRoot(output.Root{Target: "a", Path: "/r"})
	b.AddRoot(output.Root{Target: "b", Path: "/r"})
	add("b", "/r/x", "1", output.Origin{Module: "m", Path: "x"})
	add("a", "/r/x", "2", output.Origin{Module: "n", Path: "y"})
	add("b", "/r/x", "1", output.Origin{Module: "k", Path: "z"}, output.Origin{Module: "m", Path: "other"})
	add("a", "/r/X", "3")

	state := b.State()
	wantRoots := []output.Root{{"a", "/r", false}, {"a", "/r/sub", false}, {"b", "/r", true}}
	if diff := cmp.Diff(wantRoots, state.Roots); diff != "" {
		t.Errorf("roots are sorted, the first of duplicates counts (-want +got)\n%s", diff)
	}
	var order []string
	for _, file := range state.Files {
		order = append(order, file.Target+file.Path)
	}
	if diff := cmp.Diff([]string{"a/r/X", "a/r/x", "b/r/x"}, order); diff != "" {
		t.Errorf("files (-want +got)\n%s", diff)
	}
	merged, ok := state.File(output.Key{Target: "b", Path: "/r/x"})
	want := &output.File{
		Key: output.Key{Target: "b", Path: "/r/x"}, Content: []byte("1"), SHA256: digest.Hex([]byte("1")),
		Modules: []string{"k", "m"}, Origins: []output.Origin{{"k", "z"}, {"m", "x"}},
	}
	if diff := cmp.Diff(want, merged); !ok || diff != "" {
		t.Errorf("one content of two modules (-want +got)\n%s", diff)
	}
	if _, ok := state.File(output.Key{Target: "c", Path: "/r/x"}); ok {
		t.Error("File returned the file of another target")
	}
}

func TestConflict(t *testing.T) {
	var b output.Builder
	key := output.Key{Target: "codex", Path: "/r/x"}
	if err := b.Add(key, []byte("1"), output.Origin{Module: "a"}); err != nil {
		t.Fatal(err)
	}
	got := fault.Of(b.Add(key, []byte("2"), output.Origin{Module: "b"}))
	want := fault.Details{
		"target": "codex", "path": "/r/x", "reason_code": "desired_state_conflict",
		"next_actions": []string{"resolve_desired_state_conflict", "retry_command"},
		"existing":     map[string]any{"sha256": digest.Hex([]byte("1")), "module_ids": []string{"a"}},
		"new":          map[string]any{"sha256": digest.Hex([]byte("2")), "module_ids": []string{"b"}},
	}
	if diff := cmp.Diff(want, got.Details); got.Code != fault.DesiredStateConflict || diff != "" {
		t.Errorf("%s (-want +got)\n%s", got.Code, diff)
	}
}

func TestOwner(t *testing.T) {
	state := &output.State{Roots: []output.Root{{"a", "/r", false}, {"a", "/r/sub", false}, {"b", "/r/sub/deep", false}}}
	for path, want := range map[string]string{
		"/r/x": "/r", "/r/sub/x": "/r/sub", "/r/sub/deep/x": "/r/sub", "/r/subway": "/r", "/rr/x": "", "/r": "", "/x": "", "/r/../x": "",
	} {
		owner, ok := state.Owner(output.Key{Target: "a", Path: path})
		if owner.Path != want || ok != (want != "") {
			t.Errorf("%s: got %q", path, owner.Path)
		}
	}
}
