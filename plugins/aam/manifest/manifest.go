// Package manifest reads aam.yaml, the file in a package's folder that says what it is, and agent.yaml, the
// one in an agent's. Load and Parse say all that is wrong with one at once. Whether the files are there that
// it names is not looked at.
package manifest

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// FileName is the name of a package's manifest in its folder.
const FileName = "aam.yaml"

// MaxSize bounds a manifest, in bytes.
const MaxSize = 1 << 20

// Manifest says what a package is. It is only ever a valid one.
type Manifest struct {
	Name        string
	Version     string // as it is written
	Description string
	Author      *string // nil if not given, like the next three
	License     *string
	Repository  *string
	Homepage    *string
	Keywords    []string   // never nil
	Artifacts   []Artifact // in the order of Types, at least one
	// Dependencies are the packages that this one needs, in the file's order.
	Dependencies []Dependency
	Platforms    []Platform
}

// Dependency is a package that another one needs.
type Dependency struct {
	Name       string
	Constraint string
}

// Platform is what a package says about one platform. Nothing acts on it.
type Platform struct {
	Name                 string
	SkillScope           string
	DeployInstructionsAs string
	MergeInstructions    bool
}

// Load reads the manifest of the package in dir. Its errors have the code ManifestNotFound or
// ManifestInvalid; in the latter's chain is a *yaml11.SyntaxError or yaml11.Problems.
func Load(s files.System, dir string) (*Manifest, error) {
	path := filepath.Join(dir, FileName)
	data, err := files.ReadInside(s, dir, path, MaxSize)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.ManifestNotFound, "No %s found at %s", FileName, path)
	case errors.Is(err, fs.ErrPermission):
		return nil, err
	case err != nil:
		return nil, fault.New(fault.ManifestInvalid, "%w", err)
	}
	m, err := Parse(data)
	if err != nil {
		return nil, fault.New(fault.ManifestInvalid, "%s: %w", path, err)
	}
	return m, nil
}

// Of returns the artifacts of one type.
func (m *Manifest) Of(t Type) []Artifact {
	var of []Artifact
	for _, artifact := range m.Artifacts {
		if artifact.Type == t {
			of = append(of, artifact)
		}
	}
	return of
}

// Counts returns how many artifacts there are of each type, by its plural. A type without any is absent.
func (m *Manifest) Counts() map[string]int {
	counts := map[string]int{}
	for _, artifact := range m.Artifacts {
		counts[artifact.Type.Plural()]++
	}
	return counts
}

// Types returns the types that the package has artifacts of, in the order of Types.
func (m *Manifest) Types() []Type {
	var types []Type
	for _, t := range Types() {
		if len(m.Of(t)) > 0 {
			types = append(types, t)
		}
	}
	return types
}
