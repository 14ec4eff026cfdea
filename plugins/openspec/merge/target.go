package merge

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/spec"
)

// BriefPurpose is the length, in UTF-16 units, below which a Purpose is too short.
const BriefPurpose = 50

// target returns the spec that the delta is applied to.
func (m *merger) target() (*spec.Main, error) {
	if m.in.Target == nil {
		return m.skeleton()
	}
	if carried := m.in.Delta.Purpose; hasProse(carried) {
		purpose := markdown.Find(m.in.Target.Text().Sections(), spec.PurposeTitle)
		if purpose == nil || purpose.Content() != carried {
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

// skeleton begins the spec of a new capability.
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

// purpose returns the Purpose of a new capability: the delta's own if it is usable.
func (m *merger) purpose() string {
	carried := m.in.Delta.Purpose
	placeholder := spec.PlaceholderPurpose(m.in.Change)
	if !hasProse(carried) {
		return placeholder
	}
	if strings.Contains(carried, "<!--") || !readable(m.in.ID, carried) {
		m.warn("delta Purpose ignored (it would leave the new spec unreadable); wrote the placeholder Purpose instead.")
		return placeholder
	}
	if markdown.Length(carried) < BriefPurpose {
		m.warn("carried Purpose is under %d characters; openspec validate --strict reports it as too brief.", BriefPurpose)
	}
	return carried
}

// readable reports whether a spec with that purpose still parses into both of its sections.
func readable(id, purpose string) bool {
	text := markdown.Parse(begin(id, purpose))
	parsed, err := spec.Parse(id, text)
	return err == nil && parsed.Overview == purpose && spec.Divide(text).Found && len(spec.Structure(text)) == 0
}

// hasProse reports whether a text has content outside of fences and comments.
func hasProse(body string) bool {
	text := markdown.Parse(body)
	var open strings.Builder
	for i, line := range text.Lines {
		if !text.Fenced(i) {
			open.WriteString(line + "\n")
		}
	}
	return markdown.Trim(withoutComments(open.String())) != ""
}

func withoutComments(text string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "<!--")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if _, text, found = strings.Cut(rest, "-->"); !found {
			return out.String()
		}
	}
}
