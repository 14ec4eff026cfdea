package catalog

import (
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Codes of refused requests in the audit log. Clients cannot distinguish the first two.
const (
	Unknown    = "unknown"     // no plugin has what was requested
	NotGranted = "not_granted" // a plugin has what was requested, but the config or the flags withhold it
	LeftOut    = "left_out"    // the plugin that has what was requested is left out
	Writes     = "writes"      // read_tool, or a script, was to call a tool that writes
	Reads      = "reads"       // write_tool was to call a tool that only reads
	Indirect   = "indirect"    // run_script, which only clients call, or a tool that runs only as a task, was to be called by a tool of the host or by a script
)

// Refusal returns the reason why no plugin answers a request, and the plugin that has what was requested; nil if the reason is
// Unknown. A plugin whose prompts or resources are known only at call time is assumed to have every one that no plugin claims.
func (c *Catalog) Refusal(r call.Request) (string, *Plugin) {
	var leftOut, withheld *Plugin
	for i, p := range slices.Concat(c.Plugins, c.others) {
		switch claimed, dynamic := p.has(r); {
		case claimed && p.Problem != "":
			leftOut = p
		case claimed && (i >= len(c.Plugins) || !p.grants(r)):
			return NotGranted, p
		case dynamic && p.Problem == "" && !p.grants(r):
			withheld = p
		}
	}
	switch {
	case leftOut != nil:
		return LeftOut, leftOut
	case len(c.Found.SkillDirs) > 0 && strings.HasPrefix(r.Name, projectRoot) && (!c.HasProjectSkills() || !c.project.Resources.Allowed(r.Name)):
		return NotGranted, nil
	case withheld != nil:
		return NotGranted, withheld
	}
	return Unknown, nil
}

// subject returns the kind and the name of the tool, prompt, resource or task that a request is for. A completion is for the prompt or
// resource that its reference names.
func subject(r call.Request) (kind, name string) {
	switch r.Method {
	case abi.MethodToolsCall:
		return "tool", r.Name
	case abi.MethodPromptsGet:
		return "prompt", r.Name
	case abi.MethodComplete:
		if r.Ref.Type == "ref/prompt" {
			return "prompt", r.Ref.Name
		}
		return "resource", r.Ref.URI
	}
	if strings.HasPrefix(r.Method, "tasks/") {
		return "task", r.Name
	}
	return "resource", r.Name
}

// has reports whether the manifest claims the tool, prompt or resource that r is for (claimed), and whether the plugin may have it
// because its names are known only at call time (dynamic).
func (p *Plugin) has(r call.Request) (claimed, dynamic bool) {
	kind, name := subject(r)
	switch {
	case p.Manifest == nil, kind == "task": // tasks belong to clients
		return false, false
	case kind == "tool":
		return p.hasTool(name), false
	case kind == "prompt":
		return slices.Contains(p.Manifest.Offers.Prompts.Names, name), p.Manifest.Offers.Prompts.Any
	}
	if len(p.Manifest.Skills) > 0 && strings.HasPrefix(name, manifest.SkillRoot(p.Name)) {
		return true, false
	}
	prefixes := p.Manifest.Offers.Resources
	return slices.ContainsFunc(prefixes.Names, func(prefix string) bool { return strings.HasPrefix(name, prefix) }), prefixes.Any
}

// grants reports whether the tool, prompt or resource of p that r is for is granted.
func (p *Plugin) grants(r call.Request) bool {
	switch kind, name := subject(r); kind {
	case "tool":
		own := strings.TrimPrefix(name, p.Grant.Prefix)
		return slices.ContainsFunc(p.Grant.Tools, func(t manifest.Tool) bool { return t.Name == own })
	case "prompt":
		return p.Grant.Prompts.Allowed(name)
	default:
		return p.Grant.Resources.Allowed(name)
	}
}
