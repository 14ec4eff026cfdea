package plan_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

func TestCompute(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(base, "r")
	key := func(name string) output.Key { return output.Key{Target: "t", Path: filepath.Join(root, name)} }
	var b output.Builder
	b.AddRoot(output.Root{Target: "t", Path: root})
	for _, name := range []string{"new", "same", "mine", "theirs"} {
		if err := b.Add(key(name), []byte("wanted")); err != nil {
			t.Fatal(err)
		}
	}
	for path, content := range map[string]string{"r/same": "wanted", "r/mine": "old", "r/theirs": "old", "r/gone": "old", "elsewhere": "old"} {
		at := filepath.Join(base, path)
		testenv.WriteFile(t, at, content)
	}
	managed := []output.Key{{Target: "t", Path: filepath.Join(base, "elsewhere")}, key("gone"), key("mine"), key("not there")}
	got, err := plan.Compute(b.State(), managed, nil)
	if err != nil {
		t.Fatal(err)
	}
	old, wanted := digest.Hex([]byte("old")), digest.Hex([]byte("wanted"))
	change := func(op plan.Op, name string, before, after *string, kind plan.UpdateKind, reason string) plan.Change {
		path := key(name).Path
		return plan.Change{Target: "t", Op: op, Path: path, PathPosix: path, Before: before, After: after, UpdateKind: kind, Reason: reason}
	}
	want := plan.Plan{
		Changes: []plan.Change{
			change(plan.Delete, "gone", &old, nil, "", "no longer managed"),
			change(plan.Update, "mine", &old, &wanted, plan.ManagedUpdate, "content differs"),
			change(plan.Create, "new", nil, &wanted, "", "file missing"),
			change(plan.Update, "theirs", &old, &wanted, plan.AdoptUpdate, "would overwrite unmanaged existing file"),
		},
		Summary: plan.Summary{Create: 1, Update: 2, Delete: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is outside of the roots is left alone (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{key("theirs").Path}, got.Adopts()); diff != "" {
		t.Error(diff)
	}
	none, err := plan.Compute(&output.State{}, nil, nil)
	if err != nil || none.Changes == nil || len(none.Changes) > 0 {
		t.Errorf("the plan without files: got %+v, %v", none, err)
	}
}

func TestComputeRefusesDirectoryInPlaceOfFile(t *testing.T) {
	root := t.TempDir()
	var b output.Builder
	b.AddRoot(output.Root{Target: "t", Path: root})
	if err := b.Add(output.Key{Target: "t", Path: filepath.Join(root, "a")}, []byte("wanted")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := plan.Compute(b.State(), nil, nil); err == nil {
		t.Errorf("the plan for a directory at the path of a desired file: got %+v", got)
	}
}
