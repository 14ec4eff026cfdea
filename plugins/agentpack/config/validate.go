package config

import (
	"slices"
	"strings"
	"unicode"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
)

// DefaultProfile is the name of the profile that every manifest must have.
const DefaultProfile = "default"

// projectOnly lists the targets that never write outside of projects.
var projectOnly = []string{Cursor, JetBrains, VSCode, Zed}

// validate checks the values of the manifest and their relations; decode.go checks structure and types. The contract
// prescribes the order of the checks, because callers see only the first error.
func (m *Manifest) validate() error {
	for _, target := range m.Targets {
		if !slices.Contains(Targets, target.Name) {
			return unsupported(target.Name, "")
		}
		if target.Scope == ScopeUser && slices.Contains(projectOnly, target.Name) {
			return fault.New(fault.ConfigInvalid, fault.Details{"target": target.Name, "allowed_scopes": []string{"project", "both"}},
				"target %s has the scope user, but it has no directories outside of projects; use project or both", target.Name)
		}
	}
	if _, ok := m.Profiles[DefaultProfile]; !ok {
		return fault.New(fault.ConfigInvalid, fault.Details{"profile": DefaultProfile},
			"%s has no profile %q; add one under profiles", ManifestFile, DefaultProfile)
	}
	seen := make(map[string]bool, len(m.Modules))
	for _, module := range m.Modules {
		if seen[module.ID] {
			return module.invalid("there are two modules with the id %q", module.ID)
		}
		seen[module.ID] = true
		if err := module.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (m Module) validate() error {
	// The markers in generated files contain the id of the module, so a line break in the id could forge a marker.
	if strings.ContainsFunc(m.ID, unicode.IsControl) {
		return m.invalid("the id %q holds a control character", m.ID)
	}
	if strings.TrimSpace(m.ID) == "" {
		return m.invalid("a module has an empty id")
	}
	for _, target := range m.Targets {
		if !slices.Contains(Targets, target) {
			return unsupported(target, m.ID)
		}
	}
	if (m.Local == nil) == (m.Git == nil) {
		return m.invalid("module %q needs exactly one source: local_path or git", m.ID)
	}
	return nil
}

func (m Module) invalid(format string, arguments ...any) error {
	return fault.New(fault.ConfigInvalid, fault.Details{"module_id": m.ID}, format, arguments...)
}

func unsupported(target, module string) error {
	details := fault.Details{
		"target": target, "allowed": Targets, "reason_code": "target_not_compiled",
		"next_actions": []string{"inspect_help_json", "edit_manifest_targets", "rebuild_with_target_feature", "retry_command"},
	}
	where := "targets"
	if module != "" {
		details["module_id"] = module
		where = "the targets of module " + module
	}
	return fault.New(fault.TargetUnsupported, details, "%s names the target %q, which is not one of %s",
		where, target, strings.Join(Targets, ", "))
}
