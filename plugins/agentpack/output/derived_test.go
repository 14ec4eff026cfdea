package output

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDerivedManifestIsTheParsedOne(t *testing.T) {
	const text = `{"schema_version":1,"generated_at":"t","tool":"codex","snapshot_id":"s","managed_files":[{"path":"a","sha256":"0","module_ids":["m","n"]},{"path":"b","sha256":"1"}]}`
	want, err := ParseManifest([]byte(text), "codex")
	if err != nil {
		t.Fatal(err)
	}
	got := manifests.Compute([]byte(text))
	if diff := cmp.Diff(*want, got.Manifest); !got.valid || diff != "" {
		t.Errorf("valid %t (-want +got)\n%s", got.valid, diff)
	}
	for _, text := range []string{"", "{}", `{"schema_version":2,"generated_at":"t","tool":"codex","managed_files":[]}`, `{"schema_version":1,"tool":"codex","managed_files":[]}`} {
		if got := manifests.Compute([]byte(text)); got.valid {
			t.Errorf("%s is valid", text)
		}
	}
}
