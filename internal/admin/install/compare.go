package install

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Difference is what Compare found between two plugins.
type Difference struct {
	Old     string          `json:"old"` // name, version and directory
	New     string          `json:"new"`
	Changes []review.Change `json:"changes"`
	More    bool            `json:"asks_for_more"`
}

// Compare compares the manifests of two built plugins. Module and skills of the new one must match its manifest.
func Compare(o discovery.Options, oldDir, newDir string) (Difference, error) {
	var manifests [2]*manifest.Manifest
	for i, named := range []string{oldDir, newDir} {
		dir, err := discovery.Absolute(o, named)
		if err != nil {
			return Difference{}, err
		}
		m, problems := manifest.Load(dir)
		if err := problems.Err(); err != nil {
			return Difference{}, &usage.Error{Err: err}
		}
		manifests[i] = m
	}
	if err := checkBuilt(manifests[1]); err != nil {
		return Difference{}, err
	}
	return differenceOf(manifests[0], manifests[1]), nil
}

func differenceOf(old, new *manifest.Manifest) Difference {
	changes := review.Compare(old, new)
	return Difference{Old: describe(old), New: describe(new), Changes: changes, More: review.AsksForMore(changes)}
}

func describe(m *manifest.Manifest) string {
	return fmt.Sprintf("%s %s (%s)", m.Name, m.Version, m.Dir)
}
