// Package doctor looks whether the folders that a config repo writes into are there and can be written, whether
// git would take agentpack's own files in them for the user's, and whether overlays lie where they are found.
package doctor

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/action"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/desired"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/disk"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/managed"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/pipeline"
)

// Git answers what is asked about the repositories that folders lie in.
type Git interface {
	// TopLevel returns the top level of the repository that holds a path; "" if none does.
	TopLevel(path string) (string, error)
	// Ignored tells of absolute paths in a repository whether git ignores them.
	Ignored(repo string, paths ...string) ([]bool, error)
}

// Report is the payload.
type Report struct {
	MachineID   string   `json:"machine_id"`
	Roots       []Root   `json:"roots"`
	Fixes       []string `json:"gitignore_fixes"` // always empty: nothing is fixed here
	NextActions []string `json:"next_actions,omitempty"`
}

// Root is how a folder is. Suggestion is nil if there is none.
type Root struct {
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
func Examine(result *pipeline.Result, git Git, writable func(folder string) bool, prefix string) (Report, []string, error) {
	report := Report{MachineID: result.Machine, Roots: []Root{}, Fixes: []string{}}
	var folders []string
	for _, root := range result.State.Roots {
		looked, err := look(root, writable)
		if err != nil {
			return Report{}, nil, err
		}
		report.Roots = append(report.Roots, looked)
		if looked.Suggestion != nil {
			if _, command, ok := strings.Cut(*looked.Suggestion, ":"); ok {
				folders = append(folders, strings.TrimSpace(command))
			}
		}
	}
	warnings := layout(result)
	shown, more := unignored(report.Roots, result.State.Roots, git)
	warnings = append(warnings, more...)
	if shown {
		report.NextActions = append(report.NextActions, prefix+" doctor --fix --yes --json")
	}
	slices.Sort(folders)
	report.NextActions = append(report.NextActions, slices.Compact(folders)...)
	return report, warnings, nil
}

// look describes one folder.
func look(root desired.Root, writable func(string) bool) (Root, error) {
	looked := Root{
		Target: root.Target, Root: root.Path, RootPosix: filepath.ToSlash(root.Path),
		ScanExtras: root.ScanExtras, Issues: []string{},
	}
	there, err := disk.Look(root.Path)
	if err != nil {
		return Root{}, fault.IO(root.Path, err)
	}
	looked.Exists = there != disk.Nothing
	looked.Writable = there == disk.Folder && writable(root.Path)
	suggestion := ""
	switch {
	case there == disk.Nothing:
		looked.Issues = append(looked.Issues, "missing")
		suggestion = "create directory: mkdir -p " + action.Word(root.Path)
	case there != disk.Folder:
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
func layout(result *pipeline.Result) []string {
	var warnings []string
	for _, module := range result.Manifest.Modules {
		warnings = append(warnings, result.Layers.Check(module.ID)...)
	}
	return warnings
}

// unignored warns of folders in which git shows agentpack's manifests to the user, and of those of which it
// cannot be asked.
func unignored(looked []Root, roots []desired.Root, git Git) (found bool, warnings []string) {
	var unknown []string
	var refusal error
	for i, root := range roots {
		if !looked[i].Exists || below(unknown, root.Path) {
			continue
		}
		shown, err := shows(git, root)
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
func below(folders []string, path string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return folder == path || desired.Below(folder, path) })
}

// shows tells whether git would take a root's manifest for a file of the user's.
func shows(git Git, root desired.Root) (bool, error) {
	top, err := git.TopLevel(root.Path)
	if err != nil || top == "" {
		return false, err
	}
	ignored, err := git.Ignored(top, managed.Path(root))
	return len(ignored) == 1 && !ignored[0], err
}
