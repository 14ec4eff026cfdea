package host

import (
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/grant"
)

// GrantInfo describes a granted directory or repository.
type GrantInfo struct {
	Path     string `json:"path"` // as it is granted
	Access   string `json:"access"`
	Git      bool   `json:"git,omitempty"` // it is granted as a repository
	Resolved string `json:"resolved"`      // without symbolic links
	Breadth  string `json:"breadth"`       // of what is there: "in the project", "the whole home directory"
	Broad    bool   `json:"broad,omitempty"`
	Refused  string `json:"refused,omitempty"` // why it is not opened; empty if it is
}

// granted looks where the granted paths of a plugin lead. It creates nothing.
func (p *plugin) granted() []GrantInfo {
	var grants []config.Grant
	for _, other := range p.host.plugins {
		grants = append(grants, other.grant)
	}
	writable := grant.Writable(p.host.places, grants...)
	var out []GrantInfo
	add := func(kind, path, access string) {
		found, err := grant.Look(kind, path, p.host.places, writable)
		info := GrantInfo{
			Path: path, Access: access, Git: kind == grant.Repository,
			Resolved: found.Path, Breadth: found.Breadth.String(), Broad: found.Breadth.Broad(),
		}
		if err != nil {
			info.Refused = err.Error()
		}
		out = append(out, info)
	}
	for _, m := range p.grant.FS {
		if !m.State {
			add(grant.Directory, m.Path, string(m.Access))
		}
	}
	for _, g := range p.grant.Git {
		add(grant.Repository, g.Repo, string(g.Access))
	}
	return out
}
