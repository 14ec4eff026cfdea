// Package validate looks at a package in a folder as its author has it: Package reports all that is wrong with it.
package validate

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/archive"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/files"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/manifest"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// Report says whether a package is right, and what is not.
type Report struct {
	Valid          bool     `json:"valid"`
	PackageName    *string  `json:"package_name"` // nil where the manifest is not right by itself, like the next
	PackageVersion *string  `json:"package_version"`
	Errors         []string `json:"errors"`
	Warnings       []string `json:"warnings"`
	ArtifactCount  int      `json:"artifact_count"`
	ArtifactsValid bool     `json:"artifacts_valid"`
	// Manifest is what was read; nil where the manifest is not right by itself.
	Manifest *manifest.Manifest `json:"-"`
}

// Package reports on the package at path, its folder or a file in it. An error says that it could not be looked at.
func Package(s files.System, path string) (Report, error) {
	if info, err := s.Stat(path); err == nil && !info.IsDir() {
		path = filepath.Dir(path)
	}
	m, err := manifest.Load(s, path)
	if err != nil {
		return unreadable(err)
	}
	report := Report{
		PackageName: &m.Name, PackageVersion: &m.Version, ArtifactCount: len(m.Artifacts),
		Errors: []string{}, Warnings: []string{}, Manifest: m,
	}
	for _, a := range m.Artifacts {
		if archive.NeverPacked(a.Path) {
			report.Errors = append(report.Errors, fmt.Sprintf("Artifact path '%s' is one of what is never packed: .git, .env* and credentials.yaml", a.Path))
			continue
		}
		if _, err := s.Stat(filepath.Join(path, filepath.FromSlash(a.Path))); err != nil {
			report.Errors = append(report.Errors, fmt.Sprintf("Artifact path '%s' does not exist", a.Path))
			continue
		}
		if a.Type != manifest.Instruction {
			continue
		}
		if text, err := deploy.InstructionText(s, path, a); err == nil && deploy.HasMarks(text) {
			report.Errors = append(report.Errors, fmt.Sprintf("Artifact path '%s' has the marks of a section in it (<!-- BEGIN AAM: or <!-- END AAM:), with which it cannot be installed", a.Path))
		}
	}
	if m.Author == nil {
		report.Warnings = append(report.Warnings, "author: not set (optional)")
	}
	report.ArtifactsValid = len(report.Errors) == 0
	report.Valid = report.ArtifactsValid
	return report, nil
}

// unreadable reports on a manifest that is not right by itself.
func unreadable(err error) (Report, error) {
	report := Report{Errors: []string{}, Warnings: []string{}}
	var syntax *yaml11.SyntaxError
	var problems yaml11.Problems
	var coded *fault.Error
	switch {
	case errors.As(err, &syntax):
		report.Errors = append(report.Errors, "YAML parse error: "+syntax.Error())
	case errors.As(err, &problems):
		for _, problem := range problems {
			report.Errors = append(report.Errors, problem.String())
		}
	case errors.As(err, &coded):
		report.Errors = append(report.Errors, coded.Message)
	default:
		return Report{}, err
	}
	return report, nil
}
