package project

import (
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// maxQuoted is the maximum number of quoted lines that prevent the deletion of a spec.
const maxQuoted = 3

// onlyEmpty reports whether the only error of a spec is that it has no requirements.
func onlyEmpty(issues []validation.Issue) bool {
	errors := 0
	empty := false
	for _, issue := range issues {
		if issue.Level == validation.Error {
			errors++
			empty = empty || issue.Message == validation.NoRequirements
		}
	}
	return errors == 1 && empty
}

// retire accepts, with a warning, that a capability loses its last requirement; or it returns what to do first.
func (a *archiver) retire(id string, target *spec.Main) (fix string) {
	if !a.input.Metadata.RetireCapabilities {
		return fmt.Sprintf("This change removes the last requirement '%s' has. To retire the capability and delete its spec, add `retire_capabilities: true` to the change's .openspec.yaml (alongside its `schema:`, which that file requires), then rerun.", id)
	}
	text := target.Text()
	if left := spec.Unaccounted(text); len(left) > 0 {
		return fmt.Sprintf("'%s' declares retire_capabilities, but the spec holds content the merge cannot safely account for and deleting the file would take with it: %s. Move it into `## Purpose` or a canonical requirement, or delete the spec by hand.",
			id, quote(left))
	}
	path := "openspec/specs/" + id + "/spec.md"
	a.warnings = append(a.warnings, fmt.Sprintf(
		`%s - capability retired; deleted the main spec (all requirements removed, declared by retire_capabilities) at %s. Its section(s) went with it: %s. If it was committed, restore it with: git checkout HEAD -- ":(top)%s"`,
		id, path, strings.Join(spec.OtherSections(text), ", "), path))
	return ""
}

func quote(lines []string) string {
	text := `"` + strings.Join(lines[:min(len(lines), maxQuoted)], `", "`) + `"`
	if more := len(lines) - maxQuoted; more > 0 {
		text += fmt.Sprintf(", and %d more line(s)", more)
	}
	return text
}
