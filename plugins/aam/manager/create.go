package manager

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/create"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Created describes a package that CreatePackage has created from a project.
type Created struct {
	ManifestPath      string     `json:"manifest_path"`
	PackageName       string     `json:"package_name"`
	Version           string     `json:"version"`
	ArtifactsIncluded yaml11.Map `json:"artifacts_included"` // the number of artifacts of each type; the key is the plural of the type
	TotalArtifacts    int        `json:"total_artifacts"`
}

// NewPackage holds the arguments of CreatePackage. A nil field means the default value.
type NewPackage struct {
	Path                       string
	Name, Version, Description *string
	Types                      []string // the types of the artifacts to include; nil for all types
}

// CreatePackage creates a manifest that lists the artifacts of a project.
func (m *Manager) CreatePackage(n NewPackage) (*Created, error) {
	dir, err := m.path(n.Path)
	if err != nil {
		return nil, err
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	if err := m.lock("project", dir, dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, manifest.FileName)
	files.SweepTemp(m.Files, path)
	if err := m.checkFree(dir, path, n.Path); err != nil {
		return nil, err
	}
	artifacts, err := m.detect(dir, n.Types)
	if err != nil {
		return nil, err
	}
	base := filepath.Base(dir)
	name := or(n.Name, create.Name(base, "package"))
	data, man, err := create.Manifest(name, or(n.Version, "0.1.0"), or(n.Description, create.Description(base)), artifacts)
	if err != nil {
		return nil, err
	}
	if err := m.write(path, data); err != nil {
		return nil, err
	}
	return &Created{path, man.Name, man.Version, byType(man.Counts()), len(man.Artifacts)}, nil
}

func or(given *string, otherwise string) string {
	if given == nil {
		return otherwise
	}
	return *given
}

// check returns an error if one of the arguments is invalid.
func (n NewPackage) check() error {
	if n.Name != nil {
		if err := pkgname.Check(*n.Name); err != nil {
			return err
		}
	}
	if n.Version != nil {
		if _, err := version.Parse(*n.Version); err != nil {
			return fault.New(fault.InvalidArgument, "%w", err)
		}
	}
	for _, word := range n.Types {
		if _, ok := manifest.ParseType(word); !ok {
			return fault.New(fault.InvalidArgument, "artifact_types may contain skill, agent, prompt and instruction, not %.60q", word)
		}
	}
	return nil
}

// checkFree returns an error if the manifest at path already exists, or if dir is not a directory. The argument asked
// is the path as the caller of the tool wrote it, for errors.
func (m *Manager) checkFree(dir, path, asked string) error {
	if !files.IsDir(m.Files, dir) {
		return fault.New(fault.InvalidArgument, "path %.200q is not a directory that is granted to the plugin", asked)
	}
	exists, err := filesystem.Exists(m.Files, path)
	if err != nil {
		return err
	}
	if exists {
		return taken(path)
	}
	return nil
}

func taken(path string) error {
	return fault.New(fault.InvalidArgument, "%s already exists", path).
		WithHint("Remove the file first, or use the command line: aam create-package --force")
}

// write creates the manifest at path. It never replaces an existing file, because a program that takes no lock may have
// created the file since checkFree.
func (m *Manager) write(path string, data []byte) error {
	err := atomicfile.Create(path, data, files.Temp(m.Files, path))
	if errors.Is(err, fs.ErrExist) {
		return taken(path)
	}
	return err
}

// detect returns the artifacts of the given types in the project, or those of all types if types is nil. It omits
// artifacts that installed packages have deployed.
func (m *Manager) detect(dir string, types []string) ([]manifest.Artifact, error) {
	ws := workspace.Workspace{Files: m.Files, Project: dir}
	deployed, err := ws.Deployed()
	if err != nil {
		return nil, err
	}
	var mixed error
	found, err := create.Detect(m.Files, dir, func(a manifest.Artifact) bool {
		if deployed[a.Path] || types != nil && !slices.Contains(types, string(a.Type)) {
			return true
		}
		others, err := m.ofOthers(dir, a)
		mixed = cmp.Or(mixed, err)
		return others
	})
	if err == nil {
		err = mixed
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.New(fault.InvalidArgument, "no artifacts found in %s", dir).
			WithHint("Skills have a SKILL.md, agents an agent.yaml; prompts and instructions are .md files in directories of that name")
	}
	return found, nil
}

// ofOthers reports whether the file of an instruction consists only of deployed sections. It returns an error for a
// file with sections and other text, because a package that contains the file could not be installed.
func (m *Manager) ofOthers(dir string, a manifest.Artifact) (bool, error) {
	if a.Type != manifest.Instruction {
		return false, nil
	}
	text, err := deploy.InstructionText(m.Files, dir, a)
	if err != nil || !deploy.HasMarks(text) {
		return false, nil // the packing of the package reports the read error
	}
	if strings.TrimSpace(deploy.WithoutSections(text)) == "" {
		return true, nil
	}
	return false, fault.New(fault.InvalidArgument, "%s contains sections of installed packages and other text, so it cannot be an artifact", a.Path).
		WithHint("Move the other text to a file in instructions/, or omit instruction from artifact_types")
}
