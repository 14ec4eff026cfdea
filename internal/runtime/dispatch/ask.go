package dispatch

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// failureDenied is the code of a failed call that asked its client a question that the plugin is not granted.
const failureDenied = "denied"

// opAsk is the prefix under which the audit log counts the questions that a call has asked, such as ask/elicitation.
const opAsk = "ask/"

// identity identifies the version of a plugin. A client's answer is only for the version that asked the question.
func (p *plugin) identity() string { return p.Name + "@" + p.Manifest.Digest + p.ModuleVersion() }

// checkPluginVersion returns an error if r answers a question that a different plugin, or a different version of p, has asked.
func (p *plugin) checkPluginVersion(r *call.Request) error {
	if version := r.Interaction.PluginVersion; version != "" && version != p.identity() {
		return &abi.Error{Code: abi.CodeInvalidParams, Message: fmt.Sprintf("plugin %s has changed since it asked the client: make the call again from its start", p.Name)}
	}
	return nil
}

// pluginThatAsked returns the one of plugins that asked the question that r answers. If r answers no question of a plugin, it returns all
// plugins that are yet to be asked.
func (v *view) pluginThatAsked(r call.Request, plugins []*catalog.Plugin) []*catalog.Plugin {
	if r.Interaction.PluginVersion == "" {
		return plugins
	}
	i := slices.IndexFunc(plugins, func(p *catalog.Plugin) bool { return v.plugins[p.Index].identity() == r.Interaction.PluginVersion })
	if i < 0 {
		return plugins[:min(len(plugins), 1)] // checkPluginVersion of this plugin refuses the request
	}
	if r.Interaction.Round == 0 { // the host has asked for approval of a search that began with this plugin
		return plugins[i:]
	}
	return plugins[i : i+1]
}

// encodeInteraction encodes the members of a request that state what the client can be asked and what the client has answered. It
// returns nil if the plugin may not ask anything.
func (q *queued) encodeInteraction() ([]byte, error) {
	granted := q.plugin.Grant.Ask
	if len(granted) == 0 || !interaction.Supports(q.Method) {
		return nil, nil
	}
	i := q.Interaction
	return rawjson.Marshal(struct {
		Client  *abi.Client                `json:"client"`
		Answers map[string]json.RawMessage `json:"answers,omitempty"`
		State   string                     `json:"state,omitempty"`
	}{i.Client.Restrict(granted).ABI(), i.Answers, i.State})
}

// asks returns the error that ends a call that asks its client a question: a *gateway.Ask, or a *gateway.Failure if the question is not
// granted.
func (q *queued) asks(result call.Result, record func(audit.Operation)) error {
	ask, err := interaction.Parse(result.Body)
	if err != nil { // the worker has checked the body, but is not trusted
		return q.Failure(gateway.FailureInvalidResult, "asked the client, but the ask is invalid: "+err.Error())
	}
	counts := map[interaction.Kind]int64{}
	for _, r := range ask.Requests {
		counts[r.Kind]++
	}
	var denied interaction.Kind
	for _, kind := range interaction.Kinds {
		outcome, code := audit.OK, ""
		switch {
		case counts[kind] == 0:
			continue
		case !slices.Contains(q.plugin.Grant.Ask, kind):
			outcome, code, denied = audit.Denied, abi.HostDenied, kind
		}
		if record != nil {
			record(audit.Operation{Op: opAsk + string(kind), Outcome: outcome, Code: code, Count: counts[kind]})
		}
	}
	switch {
	case denied != "":
		return q.Failure(failureDenied, fmt.Sprintf("asked the client for %s, which is not granted: it must be in ask of [capabilities] in its manifest, and not be excluded by ask in the config", denied))
	case len(q.plugin.Grant.Ask) == 0:
		return q.Failure(failureDenied, "asked to be called again, which is not granted: ask of [capabilities] in its manifest, or in the config, is empty")
	}
	return &gateway.Ask{Ask: ask, PluginVersion: q.plugin.identity(), Timeout: q.plugin.Grant.Limits.Ask}
}
