// Package catalog knows what a set of plugins offers to clients: the granted tools under the names that clients see, prompts
// and resources with the claims on them, the lists that plugins answer at call time, and what the MCP server says of
// itself. New computes it from what discovery found; Look does so for the admin commands.
//
// It opens no module, starts nothing, and does not change.
package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Catalog is a set of plugins and what they offer. It is safe for concurrent use.
type Catalog struct {
	*discovery.Found
	Plugins []*Plugin // in the order in which their tools are listed

	isAlone bool // one plugin is served, under its own name
	tools   map[string]*Tool
	claims  // of prompts and resources
}

// New decides what each plugin is granted and offers. The error says what keeps them from being served together; the
// Catalog then has its plugins nevertheless.
func New(found *discovery.Found) (*Catalog, error) {
	c := &Catalog{Found: found, tools: map[string]*Tool{}}
	c.isAlone = len(found.Candidates) == 1 && (found.Server == nil || found.Server.Name == "")
	o := found.Options
	flags := config.Flags{AllowWrite: o.AllowWrite, Env: o.Env, Alone: c.isAlone && !o.AllTools}
	for i, candidate := range found.Candidates {
		c.Plugins = append(c.Plugins, newPlugin(i, candidate, found, flags))
	}
	return c, errors.Join(c.indexTools(), c.claims.index(c.Plugins))
}

// Look returns what host.Open would serve. If plugins were found, the Catalog is not nil, even if the error says that they
// cannot be served together.
func Look(o discovery.Options) (*Catalog, error) { return look(discovery.Find(o)) }

// LookAs is Look as if the config's file had that content.
func LookAs(o discovery.Options, content []byte) (*Catalog, error) {
	return look(discovery.FindAs(o, content))
}

func look(found *discovery.Found, err error) (*Catalog, error) {
	if err == nil && found.Untrusted != nil {
		err = &discovery.UsageError{Err: found.Untrusted}
	}
	if err != nil {
		return nil, err
	}
	c, err := New(found)
	if err == nil {
		_, err = c.NewServer(nil)
	}
	return c, err
}

// indexTools indexes the granted tools by name.
func (c *Catalog) indexTools() error {
	var errs []error
	for _, p := range c.Plugins {
		for _, t := range p.Tools {
			if other, taken := c.tools[t.Offered]; taken {
				errs = append(errs, discovery.UsageErrorf("plugins %q (%s) and %q (%s) both offer the tool %s: take one of them out, give one a prefix, or deny the tool to one with deny_tools in %s",
					other.Plugin.Name, other.Plugin.Entry.Path, p.Name, p.Entry.Path, t.Offered, config.FileName))
				continue
			}
			c.tools[t.Offered] = t
		}
	}
	return errors.Join(errs...)
}

// Tool returns the tool that is offered under a name; nil if there is none.
func (c *Catalog) Tool(name string) *Tool {
	t := c.tools[name]
	if t == nil || t.Plugin.Problem != "" {
		return nil
	}
	return t
}

// WhyUnknown says why no plugin answers a request, "" if there is nothing to say. A tool that is withheld is unknown to
// clients, so they learn no reason.
func (c *Catalog) WhyUnknown(method, name string) string {
	if c.Untrusted != nil {
		return c.Untrusted.Error()
	}
	if method != abi.MethodToolsCall {
		return ""
	}
	for _, p := range c.Plugins {
		if p.Problem != "" && p.hasTool(name) {
			return fmt.Sprintf("plugin %q is left out: %s", p.Name, p.Problem)
		}
	}
	return ""
}

// WarnOfUnusedEnv logs which granted variables no plugin requests.
func (c *Catalog) WarnOfUnusedEnv() {
	for _, name := range slices.Sorted(maps.Keys(c.Options.Env)) {
		if !slices.ContainsFunc(c.Plugins, func(p *Plugin) bool { _, granted := p.Grant.Env[name]; return granted }) {
			c.Options.Log.Warn("no plugin asks for the variable", "name", name)
		}
	}
}
