package replay

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Policy is what a config grants a plugin.
type Policy struct {
	File   string // path of the config
	grant  config.Grant
	prefix string
	// project and home are the values of ${project} and ${home} in the paths of grant.
	project, home string
}

// FindPolicy returns what the config that a host with these options uses grants the plugin of m; nil if there is no config, or if it does
// not name the plugin. A pin does not count, since m may be another version.
func FindPolicy(o discovery.Options, m *manifest.Manifest) (*Policy, error) {
	if o.NoConfig {
		return nil, nil
	}
	if source, err := discovery.FindConfig(o); err != nil || source.File == "" {
		return nil, err
	}
	o.AllTools, o.AllowWrite = true, false
	found, err := discovery.Find(o)
	if err != nil {
		return nil, err
	}
	if found.Untrusted != nil {
		return nil, &usage.Error{Err: found.Untrusted}
	}
	for _, c := range found.Candidates {
		if c.Name() != m.Name {
			continue
		}
		c.Entry.SHA256 = ""
		found.Candidates = []discovery.Candidate{{Entry: c.Entry, Manifest: m}}
		p := catalog.New(found).Plugins[0]
		if p.Problem != "" {
			return nil, &usage.Error{Err: errors.New(p.Problem)}
		}
		return &Policy{File: found.Config, grant: p.Grant, prefix: c.Entry.Prefix, project: found.Places.Project, home: found.Places.Home}, nil
	}
	return nil, nil
}

// table returns the [[plugins]] table that has the same effect in a scratch.Dir: the tools, names, questions, hidden files and limits of
// the policy, and those of its directories and repositories that are in the project or the home directory.
func (p *Policy) table(m *manifest.Manifest) string {
	g := p.grant
	t := config.Plugin{
		Path: m.Dir, Prefix: p.prefix, AllowWrite: true, Prompts: g.Prompts, Resources: g.Resources, Deny: append([]string{}, g.Deny...), Ask: g.Ask, Limits: g.Limits,
		FS: []manifest.FS{}, Git: []manifest.Git{}, HTTP: []config.HTTP{},
	}
	if t.Ask == nil {
		t.Ask = []interaction.Kind{}
	}
	if g.Reused {
		t.Isolation = config.IsolationReused
	}
	for _, w := range g.Withheld {
		t.DenyTools = append(t.DenyTools, w.Tool.Name)
	}
	for _, f := range g.FS {
		if path, ok := p.moved(f.Path); ok && !f.State {
			t.FS = append(t.FS, manifest.FS{Path: path, Access: f.Access})
		}
	}
	for _, r := range g.Git {
		if path, ok := p.moved(r.Repo); ok {
			t.Git = append(t.Git, manifest.Git{Repo: path, Access: r.Access})
		}
	}
	return config.Table(t)
}

// moved returns a path below the project or the home directory with the variable that a scratch.Dir defines.
func (p *Policy) moved(path string) (string, bool) {
	for _, place := range []struct{ dir, variable string }{{p.project, manifest.VarProject}, {p.home, manifest.VarHome}} {
		if place.dir == "" || !contain.Within(place.dir, path) {
			continue
		}
		rel, err := filepath.Rel(place.dir, path)
		return strings.TrimSuffix("${"+place.variable+"}/"+filepath.ToSlash(rel), "/."), err == nil
	}
	return "", false
}
