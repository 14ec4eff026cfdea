package merge

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

// BriefPurpose is the length, in UTF-16 units, below which the text of a Purpose is too short.
const BriefPurpose = 50

// target returns the main spec to which the delta is applied.
func (m *merger) target() (*spec.Main, error) {
	if m.in.Target == nil {
		return m.skeleton()
	}
	if carried := m.in.Delta.Purpose; carried != "" {
		if own := spec.PurposeBody(m.in.Target.Text()); own != "" && own != carried {
			m.warn("delta Purpose ignored; %s already has one. Edit %s directly to change it.", m.in.ID, m.in.Path)
		}
	}
	problems := m.in.Target.Problems()
	if len(problems) == 0 {
		return m.in.Target, nil
	}
	lines := make([]string, len(problems))
	for i, problem := range problems {
		lines[i] = fmt.Sprintf("line %d: %s", problem.Line, problem.Message)
	}
	return nil, fmt.Errorf("%s: target spec is structurally invalid and cannot be updated until fixed:\n%s", m.in.ID, strings.Join(lines, "\n"))
}

// skeleton returns the main spec of a new capability, which has no requirements yet.
func (m *merger) skeleton() (*spec.Main, error) {
	d := m.in.Delta
	if len(d.Modified) > 0 || len(d.Renamed) > 0 {
		return nil, errors.New(m.in.ID + ": target spec does not exist; only ADDED requirements are allowed for new specs. MODIFIED and RENAMED operations require an existing spec.")
	}
	if len(d.Removed) > 0 {
		m.warn("%d REMOVED requirement(s) ignored for new spec (nothing to remove).", len(d.Removed))
	}
	return spec.NewMain(begin(m.in.ID, m.purpose())), nil
}

func begin(id, purpose string) string {
	return fmt.Sprintf("# %s Specification\n\n## %s\n%s\n\n## %s\n", id, spec.PurposeTitle, purpose, spec.RequirementsTitle)
}

// purpose returns the Purpose of a new capability. This is the Purpose in the delta if that is usable.
func (m *merger) purpose() string {
	carried := m.in.Delta.Purpose
	placeholder := spec.PlaceholderPurpose(m.in.Change)
	if carried == "" {
		return placeholder
	}
	overview := overview(m.in.ID, carried)
	if strings.Contains(carried, "<!--") || overview == "" {
		m.warn("delta Purpose ignored (it would leave the new spec unreadable); wrote the placeholder Purpose instead.")
		return placeholder
	}
	if markdown.Length(overview) < BriefPurpose {
		m.warn("carried Purpose is under %d characters; openspec validate --strict reports it as too brief.", BriefPurpose)
	}
	return carried
}

// overview returns the Purpose that spec.Parse would read from a new spec with this Purpose; "" if that spec would be
// invalid.
func overview(id, purpose string) string {
	text := markdown.Parse(begin(id, purpose))
	parsed, err := spec.Parse(id, text)
	if err != nil || len(spec.Structure(text)) > 0 {
		return ""
	}
	return parsed.Overview
}
