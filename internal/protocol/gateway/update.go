package gateway

import (
	"bytes"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// Update is a validated Config that Apply can put into effect.
type Update struct {
	next *served
	// PromptsChanged and ResourcesChanged state that the Backend's lists may differ from those before the Update.
	PromptsChanged, ResourcesChanged bool
}

// Prepare validates a Config that is to replace the present one. MaxLine, MaxInFlight and Log are ignored.
//
// A capability that clients were told about stays declared, as they cannot be told otherwise: its lists are then empty.
func (v *View) Prepare(config Config) (*Update, error) {
	old := v.served.Load().config
	config.Offers = config.Offers.union(old.Offers)
	config.Offers.Tools = config.Offers.Tools || old.offersTools()
	config.Logging = config.Logging || old.Logging
	next, err := newServed(config)
	if err != nil {
		return nil, err
	}
	return &Update{next: next}, nil
}

// Apply makes u the Config of further requests, and notifies the sessions of the lists that changed. It reports whether the
// list of tools changed. Calls of Prepare and Apply must not be concurrent.
func (v *View) Apply(u *Update) (toolsChanged bool) {
	old := v.served.Swap(u.next)
	c := changes{prompts: u.PromptsChanged, resources: u.ResourcesChanged, tools: !bytes.Equal(old.lists.icons, u.next.lists.icons)}
	v.announce(nil, c)
	return c.tools
}

func (o Offers) union(other Offers) Offers {
	return Offers{
		Tools: o.Tools || other.Tools, ToolsChange: o.ToolsChange || other.ToolsChange,
		Prompts: o.Prompts || other.Prompts, PromptsChange: o.PromptsChange || other.PromptsChange,
		Resources: o.Resources || other.Resources, ResourcesChange: o.ResourcesChange || other.ResourcesChange,
		Subscribe: o.Subscribe || other.Subscribe, Completions: o.Completions || other.Completions, Tasks: o.Tasks || other.Tasks, Skills: o.Skills || other.Skills,
	}
}

// Warn sends a log message to the legacy sessions that want warnings. Modern sessions get log messages of their own
// requests only. It does not wait for clients that do not read.
func (g *Gateway) Warn(logger, text string) {
	params, _ := json.Marshal(struct { // strings always encode
		Level  mcp.LoggingLevel `json:"level"`
		Logger string           `json:"logger"`
		Data   string           `json:"data"`
	}{mcp.LoggingLevelWarning, logger, text})
	for _, s := range g.sessions() {
		if s.view.served.Load().config.Logging && mcp.LoggingLevelWarning.ShouldSendTo(s.level.Load().(mcp.LoggingLevel)) {
			s.mail.send(changes{warning: params}, s.deliver)
		}
	}
}
