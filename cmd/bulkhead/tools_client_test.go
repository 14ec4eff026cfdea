package main

import (
	"slices"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
)

func TestSkillsOfClient(t *testing.T) {
	plugins := []host.PluginInfo{{Name: "notes", Skills: []string{"review", "release"}}}
	for name, c := range map[string]struct {
		rules []review.FilterRules
		want  []string
	}{
		"no rules":                      {nil, []string{"review", "release"}},
		"one URI denied":                {[]review.FilterRules{{Of: "resources", Deny: []string{"skill://notes/release/SKILL.md"}}}, []string{"review"}},
		"another scheme allowed":        {[]review.FilterRules{{Of: "resources", Allow: []string{"note://*"}}}, []string{}},
		"rules of the client's":         {[]review.FilterRules{{Of: "resources"}, {Of: "resources", Allow: []string{"skill://notes/review/*"}}}, []string{"review"}},
		"rules of prompts do not count": {[]review.FilterRules{{Of: "prompts", Deny: []string{"*"}}}, []string{"review", "release"}},
	} {
		found := explain.Policies{Plugins: []explain.PluginPolicy{{Name: "notes", Policy: &review.Policy{Names: c.rules}}}}
		if got := clientPlugins(found, plugins)[0].Skills; !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
