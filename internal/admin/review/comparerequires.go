package review

import (
	"cmp"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// requirements compares the [[requires]] tables, which state without what the plugin cannot work. A requirement does not request
// access. It only decides when tools are offered, and what `bulkhead init` shows to the user and then creates.
func (c *comparison) requirements() {
	c.list("requires", "requires", false, requirementTexts(c.old), requirementTexts(c.new), strings.Clone)
}

func requirementTexts(m *manifest.Manifest) []string {
	var texts []string
	for _, r := range m.Requires {
		text := cmp.Or(r.Env, r.Grant, strings.Join(r.Paths, " or ")) + " (" + r.Why + ")"
		if r.Optional {
			text += " if it is set"
		}
		if len(r.Tools) > 0 {
			text += " for " + strings.Join(r.Tools, ", ")
		}
		if len(r.Except) > 0 {
			text += " except for " + strings.Join(r.Except, ", ")
		}
		if r.Value != "" {
			text += ", with the value " + r.Value
		}
		for i, f := range r.Create {
			if i == 0 {
				text += "; bulkhead init creates"
			}
			text += " " + f.Path
			if f.Content != "" {
				text += " with " + f.Content
			}
		}
		texts = append(texts, text)
	}
	return texts
}
