package catalog

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// Equal reports whether the plugin and one of another Catalog are the same version with the same grant, so that a worker of
// one can serve the other. A module whose manifest contains no digest is compared by the identity of its file.
func (p *Plugin) Equal(other *Plugin) bool {
	return p.isVersionOf(other) && reflect.DeepEqual(withoutLines(p.Grant), withoutLines(other.Grant))
}

// isVersionOf reports whether the plugin and other are offered and have the same manifest and module.
func (p *Plugin) isVersionOf(other *Plugin) bool {
	if p.Problem != "" || other.Problem != "" || p.Name != other.Name || p.Entry.Path != other.Entry.Path || p.Manifest.Digest != other.Manifest.Digest {
		return false
	}
	return p.Manifest.Module.SHA256 != "" || p.HasModuleOf(other)
}

// SharesWorker reports whether a worker of the plugin can serve other, which may belong to another Catalog. Unlike Equal, it ignores what the
// host decides for each request: which tools, prompts and resources are granted, what a call may ask its client, which calls need approval, and which results
// are shortened.
func (p *Plugin) SharesWorker(other *Plugin) bool {
	return p.isVersionOf(other) && reflect.DeepEqual(workerGrant(p.Grant), workerGrant(other.Grant))
}

// workerGrant returns the part of a grant that a worker keeps.
func workerGrant(g config.Grant) config.Grant {
	g = withoutLines(g)
	g.Tools, g.Prefix, g.Prompts, g.Resources, g.Ask, g.Approve, g.Cuts = nil, "", config.Filter{}, config.Filter{}, nil, nil, nil
	g.Limits.Result, g.KeepsState = 0, false
	return g
}

// SeesAllOf reports whether the plugin of this Catalog may read whatever other, the same plugin in another one, may read. Then the clients of
// this Catalog may know of what other's calls change.
func (p *Plugin) SeesAllOf(other *Plugin) bool {
	if !p.isVersionOf(other) {
		return false
	}
	mine, others := withoutLines(p.Grant), withoutLines(other.Grant)
	return covers(mine.FS, others.FS, func(m, other config.Mount) bool {
		return contain.Within(m.Path, other.Path) && (m.Within == nil || slices.Equal(m.Within, other.Within))
	}) && covers(mine.Git, others.Git, func(g, other config.Git) bool {
		return contain.Within(g.Repo, other.Repo) && (g.Within == nil || slices.Equal(g.Within, other.Within))
	}) && covers(mine.HTTP, others.HTTP, func(h, other config.HTTP) bool { return reflect.DeepEqual(h, other) }) &&
		covers(others.Deny, mine.Deny, func(a, b string) bool { return a == b }) &&
		reflect.DeepEqual(mine.Env, others.Env) && reflect.DeepEqual(mine.Secrets, others.Secrets)
}

// covers reports whether each element of others is covered by one of mine.
func covers[T any](mine, others []T, covered func(mine, other T) bool) bool {
	return !slices.ContainsFunc(others, func(other T) bool {
		return !slices.ContainsFunc(mine, func(m T) bool { return covered(m, other) })
	})
}

// StillGrants reports whether a request that an earlier version of the plugin was to execute has the same grant now. tool is the
// name of the tool in the manifest; "" if the request is not a call. The descriptions of tools and the limits may differ.
func (p *Plugin) StillGrants(before *Plugin, tool string) bool {
	if p.Problem != "" || before.Problem != "" || p.Name != before.Name || !p.Entry.SamePlace(before.Entry) {
		return false
	}
	if tool != "" && !slices.ContainsFunc(p.Tools, func(t *Tool) bool { return t.Name == tool }) {
		return false
	}
	now, then := withoutLines(p.Grant), withoutLines(before.Grant)
	now.Tools, then.Tools = nil, nil
	now.Limits, then.Limits = manifest.Limits{}, manifest.Limits{} // a request ends with the limits that it was accepted with
	return reflect.DeepEqual(now, then)
}

// Same reports whether c and another Catalog were made from the same files, so that they offer and report the same.
func (c *Catalog) Same(other *Catalog) bool {
	if !slices.EqualFunc(c.Plugins, other.Plugins, (*Plugin).isSame) {
		return false
	}
	a, b := *c.Found, *other.Found
	for _, found := range []*discovery.Found{&a, &b} {
		found.Candidates, found.Options = nil, discovery.Options{} // isSame compares the candidates
	}
	return reflect.DeepEqual(a, b)
}

// ServesSame reports whether c and another Catalog serve the same with the same settings and warnings, although the text of their files may
// differ, for example in comments.
func (c *Catalog) ServesSame(other *Catalog) bool {
	a, b := c.Found, other.Found
	return slices.EqualFunc(c.Plugins, other.Plugins, (*Plugin).servesSame) && reflect.DeepEqual(a.Server, b.Server) &&
		c.OffersSkillsOf(other) &&
		reflect.DeepEqual(a.Clients.WithoutLines(), b.Clients.WithoutLines()) &&
		a.Audit.Equal(b.Audit) && a.HTTP.Equal(b.HTTP) && reflect.DeepEqual(a.Ceiling, b.Ceiling) &&
		reflect.DeepEqual([]any{a.Untrusted, a.Invalid, a.NoPlugins}, []any{b.Untrusted, b.Invalid, b.NoPlugins})
}

// PolicyDigest returns a digest of what decides about grants: the config and its included files, the ceiling, the manifests of the plugins, with
// the digests of their modules, which of them are served, as revocations say, and which tools are granted, as the command line says. It has none
// of the values of variables, which may be secret, nor the paths that differ between machines. It is empty without a config.
func (c *Catalog) PolicyDigest() string {
	if len(c.Files) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, f := range c.Files {
		fmt.Fprintln(sum, f.SHA256)
	}
	for _, p := range c.Plugins {
		if p.Manifest != nil {
			fmt.Fprintln(sum, p.Name, p.Manifest.Digest, p.Problem == "")
			for _, t := range p.Grant.Tools {
				fmt.Fprintln(sum, t.Name)
			}
		}
	}
	if c.Ceiling != nil {
		ceiling, err := json.Marshal(c.Ceiling.WithoutPaths())
		fmt.Fprintln(sum, string(ceiling), err)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func (p *Plugin) servesSame(other *Plugin) bool {
	if !slices.EqualFunc(p.Problems, other.Problems, sameProblem) || !reflect.DeepEqual(p.unready, other.unready) {
		return false
	}
	if p.Problem != "" || other.Problem != "" {
		return p.Problem == other.Problem && p.Name == other.Name && p.Entry.SamePlace(other.Entry)
	}
	return p.Equal(other) && p.HasModuleOf(other)
}

func sameProblem(a, b tomlfile.Problem) bool {
	a.Line, b.Line = 0, 0
	return a == b
}

// isSame is like Equal, but is also true for two plugins that are left out for the same reason, and false if their warnings differ.
func (p *Plugin) isSame(other *Plugin) bool {
	if !reflect.DeepEqual(p.Problems, other.Problems) || !reflect.DeepEqual(p.unready, other.unready) {
		return false
	}
	if p.Problem != "" {
		return p.Problem == other.Problem && p.Name == other.Name && reflect.DeepEqual(p.Entry, other.Entry)
	}
	return p.Equal(other) && p.HasModuleOf(other)
}

// HasModuleOf reports whether the plugin and other, which belongs to another Catalog, have the same, unmodified module file.
func (p *Plugin) HasModuleOf(other *Plugin) bool {
	a, b := p.module, other.module
	return a != nil && b != nil && os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// ModuleVersion differs between versions of a module whose manifest contains no digest. It is empty if the manifest contains one.
func (p *Plugin) ModuleVersion() string {
	if p.module == nil || p.Manifest.Module.SHA256 != "" {
		return ""
	}
	return fmt.Sprintf("+%d.%d", p.module.Size(), p.module.ModTime().UnixNano())
}

// withoutLines returns a grant without what only messages use, such as lines of the config.
func withoutLines(g config.Grant) config.Grant {
	g.Withheld, g.Cuts = nil, nil
	g.Approve = slices.Clone(g.Approve)
	for i := range g.Approve {
		g.Approve[i].By, g.Approve[i].At = "", config.Position{}
	}
	g.HTTP = slices.Clone(g.HTTP)
	for i := range g.HTTP {
		if c := g.HTTP[i].Credential; c != nil {
			without := *c
			without.Line = 0
			g.HTTP[i].Credential = &without
		}
	}
	return g
}
