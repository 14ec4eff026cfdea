package catalog

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
)

// NewServer returns the MCP server of the Catalog. backend answers its requests.
func (c *Catalog) NewServer(backend gateway.Backend) (*gateway.Gateway, error) {
	g, err := gateway.New(c.serverConfig(), backend)
	if err != nil && c.speaksForItself() {
		err = discovery.UsageErrorf("%s: server: %w", c.Plugins[0].Manifest.File, err)
	}
	return g, err
}

// speaksForItself reports whether the server takes its name, version and instructions from the manifest of its only
// plugin. An invalid manifest may lack them.
func (c *Catalog) speaksForItself() bool { return c.isAlone && c.Plugins[0].Problems.Err() == nil }

// serverConfig returns the server's name, version, instructions and capabilities.
func (c *Catalog) serverConfig() gateway.Config {
	o := c.Options
	s := gateway.Config{Name: "bulkhead", Version: o.Version, Offers: c.serverOffers(), Checked: true, Log: o.Log.Named("gateway")}
	if c.Server != nil && c.Server.Name != "" {
		s.Name = c.Server.Name
	}
	if c.Untrusted != nil {
		s.Instructions = "This server offers nothing yet. " + c.Untrusted.Error() + "; then start the server again. Only the user can decide that."
	}
	if c.speaksForItself() {
		m := c.Plugins[0].Manifest.Server
		s.Name, s.Version = m.Name, m.Version
		s.Instructions, s.ProtocolVersions = m.Instructions, m.ProtocolVersions
	}
	for _, p := range c.Plugins {
		if p.Problem != "" {
			continue
		}
		s.Logging = s.Logging || p.Manifest.Offers.Logging
		for _, t := range p.Tools {
			s.Tools = append(s.Tools, t.listing())
		}
	}
	return s
}

// serverOffers returns what the server offers besides tools.
func (c *Catalog) serverOffers() gateway.Offers {
	alone := c.speaksForItself()
	tellsChanges := !alone || !c.Plugins[0].Manifest.Server.NoChanges
	changes := func(p *Plugin) bool { return tellsChanges && p.Manifest.Offers.ListChanged }
	return gateway.Offers{
		// Clients of the server that the plugin stands in for ask for its tools, granted or not.
		Tools:   alone && len(c.Plugins[0].Manifest.Tools) > 0,
		Prompts: len(c.prompts) > 0, PromptsChange: slices.ContainsFunc(c.prompts, changes),
		Resources: len(c.resources) > 0, ResourcesChange: slices.ContainsFunc(c.resources, changes),
		Subscribe: c.subscribe && tellsChanges, Completions: c.complete,
	}
}
