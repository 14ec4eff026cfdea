// Package catalog determines what a set of plugins offers to clients: the granted tools under the names that clients see,
// prompts and resources with the claims on them, the lists that plugins answer at call time, and the server's name,
// version, instructions and capabilities. New computes the Catalog from what discovery found; Look does so for the admin
// commands.
//
// Building a Catalog opens no module and starts no process. A Catalog is immutable.
package catalog

import (
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/hosttool"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Catalog is a set of plugins and what they offer. It is safe for concurrent use.
type Catalog struct {
	*discovery.Found
	Key     Key
	Plugins []*Plugin // in the order in which their tools are listed
	// Conflicts are the names that two plugins claim. At least one of the two plugins does not offer the name.
	Conflicts []Conflict

	others  []*Plugin // of the view of a client: the plugins that its table does not allow, and those that are left out
	isAlone bool      // whether a single plugin is served, under its own name
	tools   map[string]*Tool
	claims                // the plugins' claims on prompts and resources
	host    *hosttool.Set // the host's own tools; nil if there are none

	project         config.ProjectSkills
	projectProblems tomlfile.Problems // of the directories of project
}

// New decides what each plugin is granted and offers.
func New(found *discovery.Found) *Catalog {
	c := &Catalog{Found: found, Key: Key{Project: found.Project}, tools: map[string]*Tool{}}
	c.isAlone = found.Alone() && (found.Server == nil || found.Server.Name == "")
	o := found.Options
	flags := config.Flags{AllowWrite: o.AllowWrite, Env: o.Env, Alone: c.isAlone && !o.AllTools}
	for i, candidate := range found.Candidates {
		c.Plugins = append(c.Plugins, newPlugin(i, candidate, found, flags, c.isAlone))
	}
	c.findProjectSkills()
	c.claimHostTools()
	c.resolveConflicts()
	c.indexTools()
	c.claims.index(c.Plugins)
	c.host = c.hostTools()
	return c
}

// RequiresConfinement reports whether the config requires all layers of confinement.
func (c *Catalog) RequiresConfinement() bool { return c.Server != nil && c.Server.Confined }

// Look returns the Catalog that host.Open would serve. If plugins were found it is not nil, even if there is an error.
func Look(o discovery.Options) (*Catalog, error) { return look(discovery.Find(o)) }

// LookAs is like Look, but uses content in place of the content of the config file.
func LookAs(o discovery.Options, content []byte) (*Catalog, error) {
	return look(discovery.FindAs(o, content))
}

// LookWith is like LookAs for content that was parsed, without errors. It expands references in config.
func LookWith(o discovery.Options, config *config.Config) (*Catalog, error) {
	return look(discovery.FindWith(o, config))
}

func look(found *discovery.Found, err error) (*Catalog, error) {
	if err == nil && found.Untrusted != nil {
		err = &usage.Error{Err: found.Untrusted}
	}
	if err != nil {
		return nil, err
	}
	c := New(found)
	c.Report()
	_, err = c.NewServer(nil)
	return c, err
}

// indexTools indexes the granted tools by name. The tools of a plugin that is left out are indexed too, unless another
// plugin offers a tool of the same name.
func (c *Catalog) indexTools() {
	for _, p := range c.Plugins {
		for _, t := range p.Tools {
			if other := c.tools[t.Offered]; other == nil || other.Plugin.Problem != "" {
				c.tools[t.Offered] = t
			}
		}
	}
}

// Tool returns the tool that is offered under a name, or nil if there is none.
func (c *Catalog) Tool(name string) *Tool {
	t := c.tools[name]
	if t == nil || t.Plugin.Problem != "" {
		return nil
	}
	return t
}

// Plugin returns the plugin called name, nil if there is none.
func (c *Catalog) Plugin(name string) *Plugin {
	if i := slices.IndexFunc(c.Plugins, func(p *Plugin) bool { return p.Name == name }); i >= 0 {
		return c.Plugins[i]
	}
	return nil
}

// WhyUnknown returns the reason why no plugin answers a request for name, if it may be disclosed, else "". A withheld
// tool must look to clients like one that does not exist, so no reason is given for it.
func (c *Catalog) WhyUnknown(method, name string) string {
	switch {
	case c.Untrusted != nil:
		return c.Untrusted.Error()
	case c.Invalid != nil:
		return "no plugin is served: " + inSentence(c.Invalid.Error())
	}
	if c.NoPlugins != nil {
		return c.NoPlugins.Error()
	}
	if method != abi.MethodToolsCall {
		return ""
	}
	for _, p := range c.Plugins {
		if p.Problem != "" && p.hasTool(name) {
			return fmt.Sprintf("plugin %q is left out: %s", p.Name, inSentence(p.Problem))
		}
		if why := p.whyUnready(name); why != "" {
			return fmt.Sprintf("plugin %q: %s", p.Name, why)
		}
	}
	return ""
}

// Report logs which plugins are left out, and the warnings about the others: see Options.Requested. New logs nothing, since its Catalog may
// not be used.
func (c *Catalog) Report() {
	unrelated := 0
	for _, p := range c.Plugins {
		remarks := p.remarks()
		if c.Options.Requested != "" && !p.names(c.Options.Requested) {
			unrelated += len(remarks)
			continue
		}
		for _, r := range remarks {
			p.log(r)
		}
	}
	if unrelated > 0 {
		c.Options.Log.Warn("there are problems of other plugins: `bulkhead doctor` shows them", "problems", unrelated)
	}
	for _, conflict := range c.Conflicts {
		c.Options.Log.Warn(conflict.String())
	}
	for _, problem := range slices.Concat(c.projectProblems, c.ClientProblems(), c.approvalProblems()) {
		c.Options.Log.Warn(problem.String())
	}
}

// WarnOfUnusedEnv logs which granted variables no plugin requests.
func (c *Catalog) WarnOfUnusedEnv() {
	for _, name := range slices.Sorted(maps.Keys(c.Options.Env)) {
		if !slices.ContainsFunc(c.Plugins, func(p *Plugin) bool { _, granted := p.Grant.Env[name]; return granted }) {
			c.Options.Log.Warn("no plugin requests this variable", "name", name)
		}
	}
}
