// Package report builds the payloads of the tools that only read: doctor (Diagnose), status (ScanDrift, Drift.Report,
// OperatorCheck) and explain (ExplainPlan, ExplainStatus). The package writes no files.
package report

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// DoctorGit queries the git repositories that contain root directories of targets.
type DoctorGit interface {
	// TopLevel returns the top level of the repository that contains path; "" if there is no repository.
	TopLevel(path string) (string, error)
	// Ignored reports for each of the absolute paths, which are in the repository repo, whether git ignores the path.
	Ignored(repo string, paths ...string) ([]bool, error)
}

// DoctorReport is the payload of the tool doctor.
type DoctorReport struct {
	MachineID   string       `json:"machine_id"`
	Roots       []RootHealth `json:"roots"`
	Fixes       []string     `json:"gitignore_fixes"` // always empty, because the plugin does not offer doctor --fix
	NextActions []string     `json:"next_actions,omitempty"`
}

// RootHealth describes the state of one root directory. Suggestion may be nil.
type RootHealth struct {
	Target     string   `json:"target"`
	Root       string   `json:"root"`
	RootPosix  string   `json:"root_posix"`
	Exists     bool     `json:"exists"`
	Writable   bool     `json:"writable"`
	ScanExtras bool     `json:"scan_extras"`
	Issues     []string `json:"issues"`
	Suggestion *string  `json:"suggestion"`
}

// Diagnose checks the root directories and the overlays. The function writable must report whether a directory can be
// written, without changing it. Each recommended command begins with prefix.
func Diagnose(result *plan.Prepared, git DoctorGit, writable func(dir string) bool, prefix string) (DoctorReport, []string, error) {
	report := DoctorReport{MachineID: result.Machine, Roots: []RootHealth{}, Fixes: []string{}}
	var commands []string
	for _, root := range result.State.Roots {
		health, err := checkRoot(root, writable)
		if err != nil {
			return DoctorReport{}, nil, err
		}
		report.Roots = append(report.Roots, health)
		if health.Suggestion != nil {
			if _, command, ok := strings.Cut(*health.Suggestion, ":"); ok {
				commands = append(commands, strings.TrimSpace(command))
			}
		}
	}
	warnings := overlayWarnings(result)
	visible, gitWarnings := checkIgnored(report.Roots, result.State.Roots, git)
	warnings = append(warnings, gitWarnings...)
	if visible {
		report.NextActions = append(report.NextActions, prefix+" doctor --fix --yes --json")
	}
	slices.Sort(commands)
	report.NextActions = append(report.NextActions, slices.Compact(commands)...)
	return report, warnings, nil
}

// checkRoot checks one root directory.
func checkRoot(root output.Root, writable func(string) bool) (RootHealth, error) {
	health := RootHealth{
		Target: root.Target, Root: root.Path, RootPosix: filepath.ToSlash(root.Path),
		ScanExtras: root.ScanExtras, Issues: []string{},
	}
	kind, err := disk.Stat(root.Path)
	if errors.Is(err, fs.ErrPermission) {
		kind = disk.Directory // the directory exists, but is not accessible
	} else if err != nil {
		return RootHealth{}, fault.IO(root.Path, err)
	}
	health.Exists = kind != disk.Absent
	health.Writable = kind == disk.Directory && err == nil && writable(root.Path)
	suggestion := ""
	switch {
	case kind == disk.Absent:
		health.Issues = append(health.Issues, "missing")
		suggestion = "create directory: mkdir -p " + ShellQuote(root.Path)
	case kind != disk.Directory:
		health.Issues = append(health.Issues, "not_a_directory")
	case !health.Writable:
		health.Issues = append(health.Issues, "not_writable")
		suggestion = "grant the plugin write access to the directory, or change the permissions of the directory"
	}
	if suggestion != "" {
		health.Suggestion = &suggestion
	}
	return health, nil
}

// overlayWarnings returns warnings about the overlays of all modules, including modules that are not selected.
func overlayWarnings(result *plan.Prepared) []string {
	var warnings []string
	for _, module := range result.Manifest.Modules {
		warnings = append(warnings, result.Layers.Check(module.ID)...)
	}
	return warnings
}

// checkIgnored returns warnings about root directories in which git does not ignore agentpack's manifests, and about
// root directories for which git fails. The result found reports whether git does not ignore at least one manifest.
func checkIgnored(health []RootHealth, roots []output.Root, git DoctorGit) (found bool, warnings []string) {
	var unknown []string
	var refusal error
	for i, root := range roots {
		if !health[i].Exists || isInAny(unknown, root.Path) {
			continue
		}
		visible, err := showsManifest(git, root)
		if err != nil && isInRepository(root.Path) {
			unknown, refusal = append(unknown, root.Path), err
		}
		if visible {
			found = true
			warnings = append(warnings, fmt.Sprintf("target manifests in %s are not ignored by git: add .agentpack.manifest*.json to .gitignore", root.Path))
		}
	}
	if len(unknown) > 0 {
		warnings = append(warnings, fmt.Sprintf("cannot determine whether git ignores the target manifests in %s: %s", strings.Join(unknown, ", "), refusal))
	}
	return found, warnings
}

// isInRepository reports whether dir or one of its ancestors contains .git. The directories in which users keep files
// for agents are usually in no repository, and not granted for git, so a git error about such a directory is not worth
// a warning.
func isInRepository(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

// isInAny reports whether path equals one of the directories, or is below one of them.
func isInAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return contain.Within(dir, path) })
}

// showsManifest reports whether a root directory is in a repository and git does not ignore the manifest of the root.
func showsManifest(git DoctorGit, root output.Root) (bool, error) {
	top, err := git.TopLevel(root.Path)
	if err != nil || top == "" {
		return false, err
	}
	ignored, err := git.Ignored(top, output.ManifestPath(root))
	return len(ignored) == 1 && !ignored[0], err
}
