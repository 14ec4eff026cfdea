package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
)

// NewServer returns the MCP server of the Catalog. backend answers its requests.
func (c *Catalog) NewServer(backend gateway.Backend) (*gateway.Gateway, error) {
	g, err := gateway.New(c.serverConfig(), backend)
	return g, c.serverError(err)
}

// NewView returns the view of g for the clients of the Catalog. backend answers their requests.
func (c *Catalog) NewView(g *gateway.Gateway, backend gateway.Backend) (*gateway.View, error) {
	v, err := g.NewView(c.serverConfig(), backend, c.Project)
	return v, c.serverError(err)
}

// PrepareUpdate returns the Update by which v, the view of the Catalog old, becomes that of c.
func (c *Catalog) PrepareUpdate(v *gateway.View, old *Catalog) (*gateway.Update, error) {
	u, err := v.Prepare(c.serverConfig())
	if err != nil {
		return nil, c.serverError(err)
	}
	u.PromptsChanged = c.listChanged(old, func(c *claims) []*Plugin { return c.prompts })
	u.ResourcesChanged = c.listChanged(old, func(c *claims) []*Plugin { return c.resources }) || c.skillsChanged(old)
	return u, nil
}

// listChanged reports whether a list that plugins supply at call time may differ from that of the Catalog old: it comes
// from different plugins, or from a plugin with another module or grant.
func (c *Catalog) listChanged(old *Catalog, of func(*claims) []*Plugin) bool {
	return !slices.EqualFunc(of(&c.claims), of(&old.claims), (*Plugin).Equal)
}

func (c *Catalog) serverError(err error) error {
	if err != nil && c.speaksForItself() {
		return usage.Errorf("%s: server: %w", c.Plugins[0].Manifest.File, err)
	}
	return err
}

// speaksForItself reports whether the server takes its name, version and instructions from the manifest of its only
// plugin. An invalid manifest may lack them.
func (c *Catalog) speaksForItself() bool { return c.isAlone && c.Plugins[0].Problems.Err() == nil }

// ServerName returns the name that the server tells clients.
func (c *Catalog) ServerName() string {
	switch {
	case c.speaksForItself():
		return c.Plugins[0].Manifest.Server.Name
	case c.Server != nil && c.Server.Name != "":
		return c.Server.Name
	}
	return "bulkhead"
}

// titlesVersion is the first protocol version whose tools have titles.
const titlesVersion = "2025-06-18"

// serverConfig returns the server's name, version, instructions and capabilities.
func (c *Catalog) serverConfig() gateway.Config {
	o := c.Options
	s := gateway.Config{Name: c.ServerName(), Version: o.Version, Offers: c.serverOffers(), Checked: true, Private: c.Key.Client != "", Log: o.Log.Named("gateway")}
	if c.Server != nil && c.Server.Name != "" {
		s.Title = c.Server.Title
	}
	s.Instructions = c.whyNothing()
	if tool := c.setupTool(); tool != nil {
		s.Tools = append(s.Tools, *tool)
	}
	if c.speaksForItself() {
		m := c.Plugins[0].Manifest.Server
		s.Version = m.Version
		s.Instructions, s.ProtocolVersions = m.Instructions, m.ProtocolVersions
	}
	for _, text := range []string{c.host.Instructions(), c.unavailable(), c.limited()} {
		s.Instructions = strings.TrimSpace(s.Instructions + "\n\n" + text)
	}
	// A plugin that replaces a server of a protocol version without titles lists no titles, as that server did.
	titles := len(s.ProtocolVersions) == 0 || slices.Max(s.ProtocolVersions) >= titlesVersion
	s.Logging = o.Development != nil // the host reports builds that fail
	s.Tools = append(s.Tools, c.host.Tools()...)
	for _, p := range c.Plugins {
		if p.Problem != "" {
			continue
		}
		s.Logging = s.Logging || p.Manifest.Offers.Logging
		if !c.lists(p) {
			continue
		}
		for _, t := range p.Tools {
			tool := t.listing()
			if !titles {
				tool.Title = ""
			}
			s.Offers.Tasks = s.Offers.Tasks || tool.Task.Offered && c.Places.State != ""
			s.Tools = append(s.Tools, tool)
		}
	}
	return s
}

// Bounds of the problems in instructions, since clients pass them to a model.
const (
	maxListed = 10
	maxReason = 600 // bytes
)

// unavailable returns a text for clients: which plugins offer nothing, and what the user can do about that. It is empty
// if all offer something.
func (c *Catalog) unavailable() string {
	var lines []string
	for _, p := range c.Plugins {
		if reason := cmp.Or(p.Problem, p.unreadyTools()); reason != "" {
			lines = append(lines, visible.Bounded(p.Name, 64)+": "+reason)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "Not available until the user changes something (`bulkhead doctor` has details):\n" + list(lines)
}

// limited returns a text for clients: which settings of the config have no effect, or prevent that something is offered or
// reached; "" if there are none. A capability that a manifest requests and the config does not grant is not included, since that is
// the admin's decision.
func (c *Catalog) limited() string {
	var lines []string
	for _, p := range c.Plugins {
		for _, warning := range p.Problems.Warnings() {
			if p.Problem == "" && warning.File == p.Entry.File && warning.File != "" {
				lines = append(lines, visible.Bounded(p.Name, 64)+": "+warning.String())
			}
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "Settings that the user should correct (`bulkhead doctor` has details):\n" + list(lines)
}

// list formats at most maxListed items, each on a line of bounded length.
func list(items []string) string {
	var lines []string
	for i, item := range items {
		if i == maxListed {
			lines = append(lines, fmt.Sprintf("- and %d more", len(items)-maxListed))
			break
		}
		lines = append(lines, "- "+visible.Truncate(inSentence(item), maxReason))
	}
	return strings.Join(lines, "\n")
}

// inSentence returns the text of problems for a sentence, in which a semicolon introduces remedies.
func inSentence(text string) string {
	return visible.Line(strings.ReplaceAll(text, "\n  remedy: ", "; remedy: "))
}

// serverOffers returns what the server offers besides tools.
func (c *Catalog) serverOffers() gateway.Offers {
	alone := c.speaksForItself()
	if c.Options.Development != nil && alone {
		// The next build may offer more, and the capabilities of a connected server cannot change.
		return gateway.Offers{Tools: true, ToolsChange: true, Prompts: true, PromptsChange: true, Resources: true, ResourcesChange: true,
			Subscribe: c.subscribe, Completions: c.complete}
	}
	tellsChanges := !alone || !c.Plugins[0].Manifest.Server.NoChanges
	// A plugin that is served alone, unless it is the only one of a config, replaces a server: capabilities that the replaced
	// server did not declare are not declared either.
	replaces := alone && (c.Config == "" || len(c.Options.Plugins) > 0)
	changes := func(p *Plugin) bool { return tellsChanges && (!replaces || p.Manifest.Offers.ListChanged) }
	if c.Untrusted != nil || c.Invalid != nil || c.NoPlugins != nil { // what will be offered is not known yet, and clients cannot be told of capabilities later
		return gateway.Offers{Tools: true, ToolsChange: true, Prompts: true, PromptsChange: true, Resources: true, ResourcesChange: true}
	}
	return gateway.Offers{
		// The clients of a plugin that is served alone list its tools, even if no tool is granted.
		Tools: alone && len(c.Plugins[0].Manifest.Tools) > 0, ToolsChange: tellsChanges && !replaces,
		Prompts: len(c.prompts) > 0, PromptsChange: slices.ContainsFunc(c.prompts, changes),
		Resources: len(c.resources) > 0 || c.HasSkills(), Skills: c.HasSkills(),
		ResourcesChange: slices.ContainsFunc(c.resources, changes) || c.HasSkills() && tellsChanges && !replaces,
		Subscribe:       c.subscribe && tellsChanges, Completions: c.complete,
	}
}
