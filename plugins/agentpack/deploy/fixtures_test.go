package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// TestRollbackToSampleSnapshot rolls back to a snapshot that the real agentpack recorded. It is skipped without the
// sample data. The test replaces the paths in the snapshot by paths in the test's home directory, and renames the
// copies of files, because the names of the copies are hashes of the paths.
func TestRollbackToSampleSnapshot(t *testing.T) {
	const sampleHome, deployed, cleaned = "/home/dev", "1768089600000000000", "1768089700000000000"
	sample := testenv.Fixture(t, "agentpack", "composed", "state_sample", "snapshots")
	h := newHome(t, nil)
	for _, id := range []string{deployed, cleaned} {
		text, err := os.ReadFile(filepath.Join(sample, id+".json"))
		if err != nil {
			t.Fatal(err)
		}
		h.write(".agentpack/state/snapshots/"+id+".json", strings.ReplaceAll(string(text), sampleHome, h.path))
	}
	from, to := deploy.Layout{Dir: sample, ID: deployed}, deploy.Layout{Dir: ".agentpack/state/snapshots", ID: deployed}
	record := h.load(deployed)
	for _, change := range record.Changes {
		moved := output.Key{Target: change.Target, Path: change.Path}
		original := output.Key{Target: change.Target, Path: strings.Replace(change.Path, h.path, sampleHome, 1)}
		content, err := os.ReadFile(from.State(original))
		if err != nil {
			t.Fatal(err)
		}
		h.write(to.State(moved), string(content))
	}
	event := h.rollback(deployed)
	for _, file := range record.Files {
		content, err := os.ReadFile(file.Path)
		if err != nil || digest.Hex(content) != file.SHA256 {
			t.Errorf("%s: %v", file.Path, err)
		}
	}
	if len(record.Files) == 0 || h.load(event).RolledBackTo != deployed {
		t.Errorf("the snapshot of the rollback is %+v", h.load(event))
	}
	if _, _, err := h.deployer().Rollback(cleaned); err == nil || !strings.Contains(err.Error(), deployed) {
		t.Errorf("rolling back to the rollback in the sample data: %v", err)
	}
}
