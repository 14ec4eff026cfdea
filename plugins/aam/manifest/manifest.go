// Package manifest parses aam.yaml, which describes a package, and agent.yaml, which describes an agent. Load and Parse
// report all problems of a file at once. They do not check whether the files of the artifacts exist.
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

// MaxSize is the maximum size of a manifest, in bytes.
const MaxSize = 1 << 20

// Manifest is the content of a valid manifest.
type Manifest struct {
	Name        string
	Version     string // the version as in the file, without normalization
	Description string
	Author      *string // nil if the manifest has no author; License, Repository and Homepage are nil in the same way
	License     *string
	Repository  *string
	Homepage    *string
	Keywords    []string   // never nil
	Artifacts   []Artifact // at least one artifact, in the order of Types
	// Dependencies are in the order of the file.
	Dependencies []Dependency
	Platforms    []Platform
}

// Dependency is a package that another package requires.
type Dependency struct {
	Name       string
	Constraint string
}

// Platform holds the settings of a manifest for one platform. These settings have no effect.
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

// Of returns the package's artifacts of type t.
func (m *Manifest) Of(t Type) []Artifact {
	var of []Artifact
	for _, artifact := range m.Artifacts {
		if artifact.Type == t {
			of = append(of, artifact)
		}
	}
	return of
}

// Types returns the types of the package's artifacts, in the order of the function Types.
func (m *Manifest) Types() []Type {
	var types []Type
	for _, t := range Types() {
		if len(m.Of(t)) > 0 {
			types = append(types, t)
		}
	}
	return types
}
