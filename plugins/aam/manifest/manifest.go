// Package manifest parses aam.yaml, which describes a package, and agent.yaml, which describes an agent. Load and Parse
// report all problems at once. They do not check that the files of the artifacts exist.
package manifest

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
)

// FileName is the name of the manifest in a package's directory.
const FileName = "aam.yaml"

// MaxSize bounds a manifest, in bytes.
const MaxSize = 1 << 20

// Manifest is a valid manifest.
type Manifest struct {
	Name        string
	Version     string // not normalized
	Description string
	Author      *string // nil if absent, like License, Repository and Homepage
	License     *string
	Repository  *string
	Homepage    *string
	Keywords    []string   // never nil
	Artifacts   []Artifact // in the order of Types, at least one
	// Dependencies are in file order.
	Dependencies []Dependency
	Platforms    []Platform
}

// Dependency is a package that another package requires.
type Dependency struct {
	Name       string
	Constraint string
}

// Platform holds the settings for a platform, which have no effect.
type Platform struct {
	Name                 string
	SkillScope           string
	DeployInstructionsAs string
	MergeInstructions    bool
}

// Load reads the manifest of the package in dir. Errors have the code ManifestNotFound or ManifestInvalid. An error
// with the code ManifestInvalid wraps a *yaml11.SyntaxError or yaml11.Problems.
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

// Types returns the types of the package's artifacts, in canonical order.
func (m *Manifest) Types() []Type {
	var types []Type
	for _, t := range Types() {
		if len(m.Of(t)) > 0 {
			types = append(types, t)
		}
	}
	return types
}
