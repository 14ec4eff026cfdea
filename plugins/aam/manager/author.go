package manager

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/config"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/create"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/pkgname"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/registry"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/validate"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/workspace"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// path returns the absolute path of one that a call names; a relative one begins at the project.
func (m *Manager) path(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fault.New(fault.InvalidArgument, "path has a NUL in it")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.Project, path)
	}
	return filepath.Clean(path), nil
}

// Validate reports on the package at path.
func (m *Manager) Validate(path string) (*validate.Report, error) {
	at, err := m.path(path)
	if err != nil {
		return nil, err
	}
	report, err := validate.Package(m.Files, at)
	return &report, err
}

// Manifest returns what is in the project's aam.yaml, valid or not: nil where there is none, and an object with an
// error where it is no YAML.
func (m *Manager) Manifest() (any, error) {
	data, err := files.Read(m.Files, filepath.Join(m.Project, manifest.FileName), manifest.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	doc, err := yaml11.Parse(data, manifest.MaxSize)
	var plain any
	if err == nil {
		plain, err = doc.Root().Plain()
	}
	if err == nil {
		_, err = json.Marshal(plain) // numbers that are none cannot be said in JSON
	}
	if err != nil {
		return yaml11.Map{{Key: "error", Value: err.Error()}}, nil
	}
	return plain, nil
}

// Published is a version that was published.
type Published struct {
	PackageName string `json:"package_name"`
	Version     string `json:"version"`
	Registry    string `json:"registry"`
	ArchiveSize int64  `json:"archive_size"` // bytes
	Checksum    string `json:"checksum"`
}

// Publish packs the package in the project's folder and publishes it to a registry, the default one if name is nil.
func (m *Manager) Publish(name *string, tag string) (*Published, error) {
	man, err := m.publishable()
	if err != nil {
		return nil, err
	}
	c, _, err := m.config()
	if err != nil {
		return nil, err
	}
	target, err := pick(c, name)
	if err != nil {
		return nil, err
	}
	client, err := m.local(target)
	if err != nil {
		return nil, err
	}
	if err := m.Lock(client.LockName()); err != nil {
		return nil, fmt.Errorf("lock registry '%s': %w", client.Name, err)
	}
	done, err := client.Publish(registry.Publication{Dir: m.Project, Manifest: man, Tag: tag, Now: registry.Timestamp(m.Now), Limits: m.Limits})
	if err != nil {
		return nil, err
	}
	return &Published{man.Name, man.Version, client.Name, done.Size, done.Checksum}, nil
}

// publishable returns the manifest of the project's package, of which nothing may be wrong.
func (m *Manager) publishable() (*manifest.Manifest, error) {
	report, err := validate.Package(m.Files, m.Project)
	if err != nil {
		return nil, err
	}
	if report.Manifest == nil {
		_, err := manifest.Load(m.Files, m.Project) // the same again, with its code
		return nil, err
	}
	if !report.Valid {
		return nil, fault.New(fault.ManifestInvalid, "%s", strings.Join(report.Errors, "; "))
	}
	return report.Manifest, nil
}

// pick returns the registry of that name, or the default one.
func pick(c config.Config, name *string) (config.Registry, error) {
	if name == nil {
		if r, ok := c.DefaultRegistry(); ok {
			return r, nil
		}
		return config.Registry{}, notConfigured()
	}
	if r, ok := c.Registry(*name); ok {
		return r, nil
	}
	return config.Registry{}, fault.New(fault.RegistryNotFound, "registry %.100q is not configured", *name).WithHint("aam_registry_list says which are")
}

func notConfigured() *fault.Error {
	return fault.New(fault.RegistryNotConfigured, "no registries are configured").WithHint("Add one with aam_registry_add")
}

// Created is a package that was made of a project.
type Created struct {
	ManifestPath      string     `json:"manifest_path"`
	PackageName       string     `json:"package_name"`
	Version           string     `json:"version"`
	ArtifactsIncluded yaml11.Map `json:"artifacts_included"` // numbers by plurals of types
	TotalArtifacts    int        `json:"total_artifacts"`
}

// NewPackage says what package to make. Nil is for what is not said.
type NewPackage struct {
	Path                       string
	Name, Version, Description *string
	Types                      []string // nil for all
}

// CreatePackage writes the manifest of a package of what is found in a project.
func (m *Manager) CreatePackage(n NewPackage) (*Created, error) {
	dir, err := m.path(n.Path)
	if err != nil {
		return nil, err
	}
	if err := n.check(); err != nil {
		return nil, err
	}
	if err := m.lock("project", dir); err != nil {
		return nil, err
	}
	path, err := m.freeManifest(dir, n.Path)
	if err != nil {
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
	files.SweepTemp(m.Files, path)
	if err := files.Replace(m.Files, path, data); err != nil {
		return nil, err
	}
	return &Created{path, man.Name, man.Version, counts(man), len(man.Artifacts)}, nil
}

func or(given *string, otherwise string) string {
	if given == nil {
		return otherwise
	}
	return *given
}

// check refuses what no manifest can say.
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
			return fault.New(fault.InvalidArgument, "artifact_types takes skill, agent, prompt and instruction, not %.60q", word)
		}
	}
	return nil
}

// freeManifest returns where the manifest goes. That there is one already, or no folder, is an error.
func (m *Manager) freeManifest(dir, asked string) (string, error) {
	if !files.IsDir(m.Files, dir) {
		return "", fault.New(fault.InvalidArgument, "path %.200q is not a folder that the plugin is granted", asked)
	}
	path := filepath.Join(dir, manifest.FileName)
	there, err := files.Exists(m.Files, path)
	if err != nil {
		return "", err
	}
	if there {
		return "", fault.New(fault.InvalidArgument, "%s exists already", path).
			WithHint("Remove it first, or use the command line's aam create-package with --force")
	}
	return path, nil
}

// detect finds the artifacts of these types, or all, that are not deployed ones of installed packages.
func (m *Manager) detect(dir string, types []string) ([]manifest.Artifact, error) {
	ws := workspace.Workspace{Files: m.Files, Project: dir}
	deployed, err := ws.Deployed()
	if err != nil {
		return nil, err
	}
	found, err := create.Detect(m.Files, dir, func(path string) bool { return deployed[path] })
	if err != nil {
		return nil, err
	}
	if types != nil {
		found = slices.DeleteFunc(found, func(a manifest.Artifact) bool { return !has(types, string(a.Type)) })
	}
	if len(found) == 0 {
		return nil, fault.New(fault.InvalidArgument, "no artifacts found in %s", dir).
			WithHint("Skills have a SKILL.md, agents an agent.yaml; prompts and instructions are .md files in folders of that name")
	}
	return found, nil
}
