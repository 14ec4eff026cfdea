package catalog

import (
	"encoding/json"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// maxDescription is the maximum size of the tool's description, in bytes: some clients cut longer ones. Its result has the whole text.
const maxDescription = 1500

// IsSetup reports whether name is that of the only tool of a server that serves no plugin, until the user has done something. Clients show
// instructions to their model only. The tool is in the lists that they show to people, and goes with a notification when plugins are served.
func (c *Catalog) IsSetup(name string) bool { return name == config.SetupName && c.setupTool() != nil }

// SetupResult returns the result of a call of that tool.
func (c *Catalog) SetupResult() []byte {
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, rawjson.Quote(c.whyNothing()))
}

// setupTool returns the tool; nil if plugins are served, or if the only plugin is being developed, whose failed builds are reported.
func (c *Catalog) setupTool() *gateway.Tool {
	why := c.whyNothing()
	if why == "" || c.Options.Development != nil {
		return nil
	}
	yes, no := true, false
	return &gateway.Tool{
		Name: config.SetupName, Title: "Why Bulkhead offers no tools yet", Description: visible.Bounded(why, maxDescription) + "\n\nThis tool changes nothing: it answers with the whole text.",
		Input: json.RawMessage(`{"type":"object","properties":{}}`), ReadOnly: true, Destructive: &no, Idempotent: &yes, OpenWorld: &no,
	}
}

// whyNothing returns a text for clients that says why no plugin is served, and what the user can do; "" if plugins are served.
func (c *Catalog) whyNothing() string {
	switch {
	case c.Untrusted != nil:
		return "This server offers nothing yet. " + c.Untrusted.Error() + ". Only the user can decide that. " + liveChanges
	case c.Invalid != nil:
		var lines []string
		for _, p := range c.Invalid.Problems {
			lines = append(lines, p.String())
		}
		return "This server offers nothing: its config is invalid. The user has to correct it. " + liveChanges +
			" `bulkhead doctor` has details:\n" + list(lines)
	case c.NoPlugins == nil:
		return ""
	case c.Options.Development != nil:
		return "This server offers nothing yet: " + visible.Bounded(c.NoPlugins.Error(), maxReason) + ". The tools are offered without a restart then."
	}
	return "This server offers nothing yet: " + c.NoPlugins.Error() + ". Only the user can do that. " + liveChanges
}

// liveChanges is the text for clients that says which remedies need a restart of a server without tools.
const liveChanges = "The tools are offered without a restart once the files are there, correct and trusted; other flags and environment variables " +
	"need a restart."
