package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/visible"
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
	s.Instructions = strings.TrimSpace(s.Instructions + "\n\n" + c.unavailable())
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

// Bounds of the plugins that instructions name, since clients pass them to a model.
const (
	maxUnavailable = 10
	maxReason      = 400 // bytes
)

// unavailable tells a client which plugins offer nothing, and what the user can do about that; "" if there are none.
func (c *Catalog) unavailable() string {
	var lines []string
	left := 0
	for _, p := range c.Plugins {
		reason := cmp.Or(p.Problem, p.unreadyTools())
		if reason == "" {
			continue
		}
		if left++; left <= maxUnavailable {
			reason = strings.Join(strings.Fields(reason), " ")
			lines = append(lines, fmt.Sprintf("- %s: %s", visible.Bounded(p.Name, 64), visible.Bounded(reason, maxReason)))
		}
	}
	if left == 0 {
		return ""
	}
	if left > maxUnavailable {
		lines = append(lines, fmt.Sprintf("- and %d more", left-maxUnavailable))
	}
	return "Not available until the user changes something and starts the server again (`bulkhead doctor` has details):\n" + strings.Join(lines, "\n")
}

// serverOffers returns what the server offers besides tools.
func (c *Catalog) serverOffers() gateway.Offers {
	alone := c.speaksForItself()
	tellsChanges := !alone || !c.Plugins[0].Manifest.Server.NoChanges
	changes := func(p *Plugin) bool { return tellsChanges && p.Manifest.Offers.ListChanged }
	return gateway.Offers{
		// A plugin that is served alone replaces a server whose clients list its tools, even if no tool is granted.
		Tools:   alone && len(c.Plugins[0].Manifest.Tools) > 0,
		Prompts: len(c.prompts) > 0, PromptsChange: slices.ContainsFunc(c.prompts, changes),
		Resources: len(c.resources) > 0, ResourcesChange: slices.ContainsFunc(c.resources, changes),
		Subscribe: c.subscribe && tellsChanges, Completions: c.complete,
	}
}
