// Package validate validates a package in its source directory. The function Package reports all problems of the
// package.
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

// Report is the result of validating a package.
type Report struct {
	Valid          bool     `json:"valid"`
	PackageName    *string  `json:"package_name"` // nil if the manifest is invalid; PackageVersion is nil then, too
	PackageVersion *string  `json:"package_version"`
	Errors         []string `json:"errors"`
	Warnings       []string `json:"warnings"`
	ArtifactCount  int      `json:"artifact_count"`
	ArtifactsValid bool     `json:"artifacts_valid"`
	// Manifest is the parsed manifest; nil if the manifest is invalid.
	Manifest *manifest.Manifest `json:"-"`
}

// Package validates a package. The argument path is the directory of the package, or a file in that directory. An error
// means that the package cannot be read.
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
		if wrong := artifact(s, path, a); wrong != "" {
			report.Errors = append(report.Errors, fmt.Sprintf("Artifact path '%s' %s", a.Path, wrong))
		}
	}
	if m.Author == nil {
		report.Warnings = append(report.Warnings, "author: not set (optional)")
	}
	report.ArtifactsValid = len(report.Errors) == 0
	report.Valid = report.ArtifactsValid
	return report, nil
}

// artifact returns the problem of an artifact of the package in dir; "" if the artifact has no problem.
func artifact(s files.System, dir string, a manifest.Artifact) string {
	info, err := s.Stat(filepath.Join(dir, filepath.FromSlash(a.Path)))
	switch isFile := a.Type == manifest.Prompt || a.Type == manifest.Instruction; {
	case archive.NeverPacked(a.Path):
		return "is never packed, like all of .git, .env* and credentials.yaml"
	case err != nil:
		return "does not exist"
	case isFile && info.IsDir():
		return fmt.Sprintf("is a directory, but an artifact of type %s must be a file", a.Type)
	case a.Type != manifest.Instruction:
		return ""
	}
	if text, err := deploy.InstructionText(s, dir, a); err == nil && deploy.HasMarks(text) {
		return "contains section markers (<!-- BEGIN AAM: or <!-- END AAM:) and cannot be installed: remove them"
	}
	return ""
}

// unreadable converts the error of loading a manifest to a report of the manifest's problems.
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
