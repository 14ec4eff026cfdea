package build

import (
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Summary is what the manifest of a plugin offers and asks for.
type Summary struct {
	File     string     `json:"file"`
	Name     string     `json:"name"`
	Version  string     `json:"version"`
	Tools    []ToolInfo `json:"tools"`
	Offers   []string   `json:"offers"`   // MCP features other than tools
	AsksFor  []Request  `json:"asks_for"` // capabilities and limits
	Problems int        `json:"problems"` // number of problems and warnings, which Check returns
}

// ToolInfo is a tool of a manifest.
type ToolInfo struct {
	Name  string `json:"name"`
	Write bool   `json:"write"`
}

// Request is a capability or a limit that a manifest requests.
type Request struct {
	Kind   string `json:"kind"` // the key of the manifest
	What   string `json:"what"`
	Access string `json:"access,omitempty"` // "r", "rw" or, of a repository, "commit"
}

// manifestOf returns the source in the directory of a module, and its problems; nil if its manifest does not name the module.
func manifestOf(file string) (*source, tomlfile.Problems) {
	s, ps := load(filepath.Dir(file))
	if s == nil || filepath.Clean(s.m.Module.File) != filepath.Base(file) {
		return nil, nil
	}
	return s, ps
}

// summary summarizes the manifest. ps are the problems of loading it, and has are the handlers of the module; nil: they are unknown.
func (s *source) summary(ps tomlfile.Problems, has *abi.Description) *Summary {
	ps = append(ps, s.check()...)
	if has != nil {
		ps = append(append(ps, s.compareTools(*has)...), s.compareOffers(*has)...)
	}
	sum := &Summary{File: s.file, Name: s.m.Name, Version: s.m.Version, Tools: []ToolInfo{}, Offers: []string{}, AsksFor: []Request{}, Problems: len(ps)}
	for _, t := range s.m.Tools {
		sum.Tools = append(sum.Tools, ToolInfo{t.Name, t.Write})
	}
	for _, o := range []struct {
		name string
		is   bool
	}{
		{"prompts", s.m.Offers.Prompts.Offers()}, {"resources", s.m.Offers.Resources.Offers()}, {"completions", s.m.Offers.Completions},
		{"list_changed", s.m.Offers.ListChanged}, {"subscribe", s.m.Offers.Subscribe}, {"logging", s.m.Offers.Logging},
		{"skills", len(s.m.Skills) > 0},
	} {
		if o.is {
			sum.Offers = append(sum.Offers, o.name)
		}
	}
	ask := func(kind, what string, access manifest.Access) {
		sum.AsksFor = append(sum.AsksFor, Request{kind, what, string(access)})
	}
	c := s.m.Capabilities
	for _, f := range c.FS {
		ask("fs", f.Path, f.Access)
	}
	for _, g := range c.Git {
		ask("git", g.Repo, g.Access)
	}
	for _, origin := range c.HTTP {
		ask("http", origin, "")
	}
	for _, name := range c.Env {
		ask("env", name, "")
	}
	for _, kind := range c.Ask {
		ask("ask", string(kind), "")
	}
	for _, l := range s.m.Limits.List() {
		if l.Value > 0 {
			ask("limits."+l.Key, l.Text, "")
		}
	}
	return sum
}
