// Package doctor looks whether the folders that a config repo writes into are there and can be written, whether
// git would take agentpack's own files in them for the user's, and whether overlays lie where they are found.
package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/output"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
)

// Git answers what is asked about the repositories that folders lie in.
type DoctorGit interface {
	// TopLevel returns the top level of the repository that holds a path; "" if none does.
	TopLevel(path string) (string, error)
	// Ignored tells of absolute paths in a repository whether git ignores them.
	Ignored(repo string, paths ...string) ([]bool, error)
}

// Report is the payload.
type DoctorReport struct {
	MachineID   string       `json:"machine_id"`
	Roots       []RootHealth `json:"roots"`
	Fixes       []string     `json:"gitignore_fixes"` // always empty: nothing is fixed here
	NextActions []string     `json:"next_actions,omitempty"`
}

// Root is how a folder is. Suggestion is nil if there is none.
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

// Examine looks at the folders and overlays of a result. Writable tells whether a folder can be written, without
// leaving a trace. Prefix begins each command that is recommended.
func Diagnose(result *plan.Prepared, git DoctorGit, writable func(dir string) bool, prefix string) (DoctorReport, []string, error) {
	report := DoctorReport{MachineID: result.Machine, Roots: []RootHealth{}, Fixes: []string{}}
	var dirs []string
	for _, root := range result.State.Roots {
		looked, err := checkRoot(root, writable)
		if err != nil {
			return DoctorReport{}, nil, err
		}
		report.Roots = append(report.Roots, looked)
		if looked.Suggestion != nil {
			if _, command, ok := strings.Cut(*looked.Suggestion, ":"); ok {
				dirs = append(dirs, strings.TrimSpace(command))
			}
		}
	}
	warnings := overlayWarnings(result)
	shown, more := checkIgnored(report.Roots, result.State.Roots, git)
	warnings = append(warnings, more...)
	if shown {
		report.NextActions = append(report.NextActions, prefix+" doctor --fix --yes --json")
	}
	slices.Sort(dirs)
	report.NextActions = append(report.NextActions, slices.Compact(dirs)...)
	return report, warnings, nil
}

// look describes one folder.
func checkRoot(root output.Root, writable func(string) bool) (RootHealth, error) {
	looked := RootHealth{
		Target: root.Target, Root: root.Path, RootPosix: filepath.ToSlash(root.Path),
		ScanExtras: root.ScanExtras, Issues: []string{},
	}
	there, err := disk.Stat(root.Path)
	if err != nil {
		return RootHealth{}, fault.IO(root.Path, err)
	}
	looked.Exists = there != disk.Absent
	looked.Writable = there == disk.Directory && writable(root.Path)
	suggestion := ""
	switch {
	case there == disk.Absent:
		looked.Issues = append(looked.Issues, "missing")
		suggestion = "create directory: mkdir -p " + ShellQuote(root.Path)
	case there != disk.Directory:
		looked.Issues = append(looked.Issues, "not_a_directory")
	case !looked.Writable:
		looked.Issues = append(looked.Issues, "not_writable")
		suggestion = "grant write access to the folder to the plugin, or change the folder's permissions"
	}
	if suggestion != "" {
		looked.Suggestion = &suggestion
	}
	return looked, nil
}

// layout says what is odd about the overlays of all modules, those that are not selected too.
func overlayWarnings(result *plan.Prepared) []string {
	var warnings []string
	for _, module := range result.Manifest.Modules {
		warnings = append(warnings, result.Layers.Check(module.ID)...)
	}
	return warnings
}

// unignored warns of folders in which git shows agentpack's manifests to the user, and of those of which it
// cannot be asked.
func checkIgnored(looked []RootHealth, roots []output.Root, git DoctorGit) (found bool, warnings []string) {
	var unknown []string
	var refusal error
	for i, root := range roots {
		if !looked[i].Exists || isInAny(unknown, root.Path) {
			continue
		}
		shown, err := showsManifest(git, root)
		if err != nil {
			unknown, refusal = append(unknown, root.Path), err
		}
		if shown {
			found = true
			warnings = append(warnings, fmt.Sprintf("target manifests in %s are not ignored by git: add .agentpack.manifest*.json to .gitignore", root.Path))
		}
	}
	if len(unknown) > 0 {
		warnings = append(warnings, fmt.Sprintf("git cannot be asked whether it ignores target manifests in %s: %s", strings.Join(unknown, ", "), refusal))
	}
	return found, warnings
}

// below tells whether path is one of the folders, or in one.
func isInAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return dir == path || disk.IsBelow(dir, path) })
}

// shows tells whether git would take a root's manifest for a file of the user's.
func showsManifest(git DoctorGit, root output.Root) (bool, error) {
	top, err := git.TopLevel(root.Path)
	if err != nil || top == "" {
		return false, err
	}
	ignored, err := git.Ignored(top, output.ManifestPath(root))
	return len(ignored) == 1 && !ignored[0], err
}
