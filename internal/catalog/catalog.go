// Package catalog knows what a set of plugins offers to clients: the granted tools under the names that clients see,
// prompts and resources with the claims on them, the lists that plugins answer at call time, and the server's name,
// version, instructions and capabilities. New computes the Catalog from what discovery found; Look does so for the admin
// commands.
//
// Building a Catalog opens no module and starts no process. A Catalog is immutable.
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

// New decides what each plugin is granted and offers. An error says why the plugins cannot be served together; the
// Catalog is valid nevertheless and contains them.
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

// Look returns the Catalog that host.Open would serve. If plugins were found it is not nil, even if the error says that
// they cannot be served together.
func Look(o discovery.Options) (*Catalog, error) { return look(discovery.Find(o)) }

// LookAs is like Look, but uses content in place of the content of the config file.
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
				errs = append(errs, discovery.UsageErrorf("plugins %q (%s) and %q (%s) both offer the tool %s: remove one of the plugins, give one a prefix, or withhold the tool of one with deny_tools in %s",
					other.Plugin.Name, other.Plugin.Entry.Path, p.Name, p.Entry.Path, t.Offered, config.FileName))
				continue
			}
			c.tools[t.Offered] = t
		}
	}
	return errors.Join(errs...)
}

// Tool returns the tool that is offered under a name, or nil if there is none.
func (c *Catalog) Tool(name string) *Tool {
	t := c.tools[name]
	if t == nil || t.Plugin.Problem != "" {
		return nil
	}
	return t
}

// WhyUnknown returns the reason why no plugin answers a request for name, if it may be disclosed, else "". A withheld
// tool must look to clients like one that does not exist, so no reason is given for it.
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
			c.Options.Log.Warn("no plugin requests this variable", "name", name)
		}
	}
}
