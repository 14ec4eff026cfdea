package admin

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/review"
)

// Difference is what Compare found between two plugins.
type Difference struct {
	Old     string          `json:"old"` // name, version and folder
	New     string          `json:"new"`
	Changes []review.Change `json:"changes"`
	More    bool            `json:"asks_for_more"`
}

// Compare compares two built plugins by their manifests, of which the new one's module has to be the one
// that it names.
func Compare(o host.Options, oldDir, newDir string) (Difference, error) {
	var both [2]*manifest.Manifest
	for i, named := range []string{oldDir, newDir} {
		dir, err := absolute(o, named)
		if err != nil {
			return Difference{}, err
		}
		m, problems := manifest.Load(dir)
		if err := problems.Err(); err != nil {
			return Difference{}, &host.UsageError{Err: err}
		}
		both[i] = m
	}
	if err := checkModule(both[1]); err != nil {
		return Difference{}, err
	}
	changes := review.Compare(both[0], both[1])
	return Difference{Old: described(both[0]), New: described(both[1]), Changes: changes, More: review.AsksForMore(changes)}, nil
}

func described(m *manifest.Manifest) string {
	return fmt.Sprintf("%s %s (%s)", m.Name, m.Version, m.Dir)
}
