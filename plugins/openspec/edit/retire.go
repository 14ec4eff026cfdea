package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/validation"
)

// maxQuotedLine is the maximum length, in characters, of a line that a message quotes. Longer lines are cut.
const maxQuotedLine = 200

// maxQuoted is the maximum number of lines that a message quotes as the reason why a spec is not deleted.
const maxQuoted = 3

// onlyEmpty reports whether the only error of a spec is that it has no requirements.
func onlyEmpty(issues []validation.Issue) bool {
	return !slices.ContainsFunc(issues, func(issue validation.Issue) bool {
		return issue.Level == validation.Error && issue.Message != validation.NoRequirements
	})
}

// retire decides whether to delete the spec of a capability that loses its last requirement. If so, retire adds a
// warning. If not, the result fix is the remedy; "" stands for the general remedy.
func (a *archiver) retire(one rebuilt) (retired bool, fix string) {
	emptied := one.target != nil && one.Counts.Removed > 0
	var left []string
	if one.target != nil {
		left = spec.Unaccounted(one.target.Text())
	}
	unread := ""
	if a.input.Invalid != nil && a.input.Invalid.Retire {
		unread = fmt.Sprintf(" The marker present now cannot be honored (%s).", a.input.Invalid.Reason)
	}
	const move = "Move it into `## Purpose` or a canonical requirement, or delete the spec by hand"
	switch declared := a.input.Metadata.RetireCapabilities; {
	case declared && len(left) > 0:
		return false, fmt.Sprintf("'%s' declares retire_capabilities, but the spec holds content the merge cannot safely account for and deleting the file would take with it: %s. %s.", one.id, quote(left), move)
	case !declared && emptied && len(left) > 0:
		return false, fmt.Sprintf("This change removes the last requirement '%s' has, so the rebuilt spec has none left and cannot be written. Retiring the capability is what archive does instead, and it is refused while the spec holds content the merge cannot safely account for and deleting the file would take with it: %s. %s, then rerun.%s", one.id, quote(left), move, unread)
	case !declared && emptied:
		return false, fmt.Sprintf("This change removes the last requirement '%s' has. To retire the capability and delete its spec, add `retire_capabilities: true` to the change's .openspec.yaml (alongside its `schema:`, which that file requires), then rerun.%s", one.id, unread)
	case !declared, one.target != nil && !emptied:
		return false, ""
	}
	if one.target != nil {
		path := "openspec/specs/" + one.id + "/spec.md"
		a.warnings = append(a.warnings, fmt.Sprintf(
			`%s - capability retired; deleted the main spec (all requirements removed, declared by retire_capabilities) at %s. Its section(s) went with it: %s. If it was committed, restore it with: git checkout HEAD -- ":(top)%s"`,
			one.id, path, spec.PurposeTitle, path))
	}
	return true, ""
}

func quote(lines []string) string {
	shown := make([]string, min(len(lines), maxQuoted))
	for i := range shown {
		shown[i] = `"` + quoted(lines[i]) + `"`
	}
	text := strings.Join(shown, ", ")
	if more := len(lines) - maxQuoted; more > 0 {
		text += fmt.Sprintf(", and %d more line(s)", more)
	}
	return text
}

// quoted returns line, cut if it is too long, and without control characters.
func quoted(line string) string {
	safe := []rune(change.Printable(line))
	if len(safe) <= maxQuotedLine {
		return string(safe)
	}
	return string(safe[:maxQuotedLine]) + "…"
}
