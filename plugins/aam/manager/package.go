package manager

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/validate"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// path returns the absolute path for a path argument, which is relative to the project.
func (m *Manager) path(path string) (string, error) {
	if strings.ContainsRune(path, 0) {
		return "", fault.New(fault.InvalidArgument, "path contains a NUL byte")
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(m.Project, path)
	}
	return filepath.Clean(path), nil
}

// Validate validates the package at path and returns a report.
func (m *Manager) Validate(path string) (*validate.Report, error) {
	at, err := m.path(path)
	if err != nil {
		return nil, err
	}
	report, err := validate.Package(m.Files, at)
	return &report, err
}

// Manifest returns the content of the project's aam.yaml, even if that is not a valid manifest. It returns nil if the
// file does not exist, and an object with an error if the file is not YAML.
func (m *Manager) Manifest() (any, error) {
	data, err := files.ReadInside(m.Files, m.Project, filepath.Join(m.Project, manifest.FileName), manifest.MaxSize)
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
		_, err = json.Marshal(plain) // Marshal returns an error for NaN and infinities, which JSON cannot represent
	}
	if err != nil {
		return yaml11.Map{{Key: "error", Value: err.Error()}}, nil
	}
	return plain, nil
}
