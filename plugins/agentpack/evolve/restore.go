package evolve

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/apply"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Restored is the payload that Restore returns.
type Restored struct {
	Files   []RestoredFile `json:"restored"` // sorted by target and path
	Summary RestoreSummary `json:"summary"`
	Reason  string         `json:"reason"` // one of "restored", "no_missing" and "dry_run"
}

// RestoredFile is a missing file that Restore has written, or would have written without dry_run.
type RestoredFile struct {
	Target    string   `json:"target"`
	Path      string   `json:"path"`
	PathPosix string   `json:"path_posix"`
	ModuleIDs []string `json:"module_ids"`
}

// RestoreSummary holds numbers of desired files.
type RestoreSummary struct {
	Missing       int `json:"missing"`
	Restored      int `json:"restored"`
	Existing      int `json:"skipped_existing"`
	SkippedUnread int `json:"skipped_read_error"`
}

// Restore writes the desired files that are missing. If moduleID is not "", it writes only the files of that module. It
// does not change existing files, and writes neither manifests nor a snapshot.
func Restore(result *plan.Prepared, applier apply.Applier, moduleID string, dryRun bool) (Restored, []string, error) {
	r := restoreBuilder{Restored: Restored{Files: []RestoredFile{}}, written: map[string]string{}}
	for _, file := range result.State.Files {
		if moduleID == "" || slices.Contains(file.Modules, moduleID) {
			r.check(result.State, file)
		}
	}
	slices.SortFunc(r.Files, func(a, b RestoredFile) int {
		return cmp.Or(cmp.Compare(a.Target, b.Target), cmp.Compare(a.Path, b.Path))
	})
	switch {
	case r.Summary.Missing == 0:
		r.Reason = "no_missing"
	case dryRun:
		r.Reason = "dry_run"
	default:
		r.Reason = "restored"
		r.Summary.Restored = len(r.Files)
		if err := applier.Apply(r.changes); err != nil {
			return Restored{}, r.warnings, err
		}
	}
	return r.Restored, r.warnings, nil
}

// restoreBuilder collects the missing files that Restore writes.
type restoreBuilder struct {
	Restored
	changes  []transaction.Change
	written  map[string]string // the SHA-256 of each file to write; the key is the path
	warnings []string
}

func (r *restoreBuilder) check(state *output.State, file output.File) {
	switch _, err := os.Stat(file.Path); {
	case err == nil:
		r.Summary.Existing++
		return
	case !filesystem.IsAbsent(err):
		r.Summary.SkippedUnread++
		r.warnings = append(r.warnings, fmt.Sprintf("evolve: %s is skipped: %v", file.Path, err))
		return
	}
	r.Summary.Missing++
	if sum, ok := r.written[file.Path]; ok && sum != file.SHA256 {
		r.warnings = append(r.warnings, fmt.Sprintf("evolve: %s is written with the content for another target, because the content for %s differs", file.Path, file.Target))
		return
	} else if !ok {
		r.written[file.Path] = file.SHA256
		root := filepath.Dir(file.Path)
		if owner, ok := state.Owner(file.Key); ok {
			root = owner.Path
		}
		r.changes = append(r.changes, transaction.Change{Root: root, Path: file.Path, After: file.Content})
	}
	r.Files = append(r.Files, RestoredFile{Target: file.Target, Path: file.Path, PathPosix: filepath.ToSlash(file.Path), ModuleIDs: file.Modules})
}
