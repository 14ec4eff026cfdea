package catalogue

import (
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
)

// names returns the names of all plugins, each once.
func (s *Sources) names() []string {
	var names []string
	for _, l := range s.Lists {
		for _, e := range l.entries {
			names = append(names, e.Name)
		}
	}
	for _, e := range s.installed {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Suggest says what to do after a search for text that found nothing.
func (s *Sources) Suggest(text string) string {
	names := s.names()
	if near := usage.Nearest(text, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	switch {
	case len(s.named) == 0 && s.Unused == nil:
		return "no catalogue is named: add one to catalogues in [sources] of the config"
	case len(names) > 0:
		return "`bulkhead search` without a text lists all plugins"
	}
	return ""
}
