package install

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/skills"
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
	nameSkillFiles(changes, old, new)
	return Difference{Old: describe(old), New: describe(new), Changes: changes, More: review.AsksForMore(changes)}
}

// nameSkillFiles adds to the changes of skills which files differ, if those of both versions are there.
func nameSkillFiles(changes []review.Change, old, new *manifest.Manifest) {
	for i := range changes {
		name, ok := strings.CutPrefix(changes[i].Key, "skills.")
		was, had := old.Skill(name)
		is, has := new.Skill(name)
		if !ok || !had || !has {
			continue
		}
		before, after := skillFiles(old, was), skillFiles(new, is)
		if before != nil && after != nil {
			changes[i].Words += ": " + strings.Join(review.CompareFiles(before, after), ", ")
		}
	}
}

// skillFiles returns the digest of each file of a skill by its name; nil if they are not those of the manifest.
func skillFiles(m *manifest.Manifest, s manifest.Skill) map[string]string {
	loaded, err := skills.Load(m.Dir, s.Path)
	if err != nil || loaded.Digest() != s.SHA256 {
		return nil
	}
	files := map[string]string{}
	for _, f := range loaded.Files {
		files[f.Path] = f.SHA256
	}
	return files
}

func describe(m *manifest.Manifest) string {
	return fmt.Sprintf("%s %s (%s)", m.Name, m.Version, m.Dir)
}
