package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/engine"
	"github.com/bulkhead-mcp/bulkhead/host/gateway"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox"
	"github.com/bulkhead-mcp/bulkhead/host/schema"
	"github.com/bulkhead-mcp/bulkhead/host/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// plugin is one plugin that was found: what it is granted, and its module once somebody called it.
type plugin struct {
	host     *Host
	name     string
	dir      string
	manifest *manifest.Manifest // nil: it cannot be read
	grant    config.Grant
	problems tomlfile.Problems // of its manifest and of its part of the config
	// problem says why nothing of the plugin is offered; empty if its tools are.
	problem string
	tools   []*tool
	queue   queue
	log     hclog.Logger

	mu     sync.Mutex // guards what follows
	module *engine.Module
	box    *sandbox.Box
}

// tool is a granted tool.
type tool struct {
	manifest.Tool
	offered string // the name that clients know it by
	// The schemas are compiled on the first call: that takes longer than reading the whole manifest.
	schema       func() (*schema.Schema, error)
	outputSchema func() (*schema.Schema, error) // of Output, if there is one
}

// newPlugin takes the decision on one candidate.
func (h *Host) newPlugin(c candidate, defaults config.Defaults, flags config.Flags) *plugin {
	p := &plugin{host: h, name: c.name(), dir: c.entry.Path, manifest: c.manifest, problems: c.problems}
	p.log = h.log.Named(p.name)
	if c.problems.Err() == nil {
		grant, problems := config.Decide(c.manifest, c.entry, defaults, h.places, flags)
		p.grant = grant
		p.problems = append(p.problems, problems...)
	}
	switch err := p.problems.Err(); {
	case err != nil:
		p.problem = err.Error()
		p.log.Error("the plugin is left out", "reason", p.problem)
		return p
	case p.grant.LeftOut != "":
		p.problem = p.grant.LeftOut
		p.log.Warn("the plugin is left out", "reason", p.problem)
	default:
		if _, err := os.Stat(c.manifest.ModuleFile()); err != nil {
			p.problem = fmt.Sprintf("there is no module at %s: build the plugin with `bulkhead plugin build`", c.manifest.ModuleFile())
			p.log.Error("the plugin is left out", "reason", p.problem)
		}
	}
	for _, warning := range p.problems.Warnings() {
		p.log.Warn(warning.String())
	}
	for _, t := range p.grant.Tools {
		p.tools = append(p.tools, newTool(t, p.grant.Prefix))
	}
	return p
}

func newTool(t manifest.Tool, prefix string) *tool {
	compiled := func(text json.RawMessage) func() (*schema.Schema, error) {
		return sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(text) })
	}
	return &tool{Tool: t, offered: prefix + t.Name, schema: compiled(t.Input), outputSchema: compiled(t.Output)}
}

// listing is what clients are told of the tool.
func (t *tool) listing() gateway.Tool {
	return gateway.Tool{
		Name: t.offered, Title: t.Title, Description: t.Description,
		Input: t.Input, Output: t.Output, Meta: t.Meta,
		ReadOnly: !t.Write, Destructive: t.Destructive, Idempotent: t.Idempotent, OpenWorld: t.OpenWorld,
	}
}

// own are the parameters of a call with the name that the plugin knows the tool by.
func (t *tool) own(params json.RawMessage) json.RawMessage {
	if t.offered == t.Name {
		return params
	}
	return rawjson.Replace(params, "name", rawjson.Quote(t.Name))
}

// check validates a call's arguments; none are an empty object.
func (t *tool) check(arguments json.RawMessage) error {
	s, err := t.schema()
	if err != nil {
		return fmt.Errorf("has an input %w", err)
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := s.Validate(arguments); err != nil {
		return fmt.Errorf("was called with arguments that do not fit its schema: %w", err)
	}
	return nil
}

// checkResult says what of a result does not keep the promise of the tool's output schema; "" if nothing
// does. A result that is an error makes no promise, and what is no result at all the gateway says.
func (t *tool) checkResult(result json.RawMessage) string {
	if string(rawjson.Member(result, "isError")) == "true" || rawjson.Kind(result) != '{' {
		return ""
	}
	structured := rawjson.Member(result, "structuredContent")
	if structured == nil {
		return "gave a result without the structuredContent that its output schema promises"
	}
	s, err := t.outputSchema()
	if err != nil {
		return "has an output " + err.Error()
	}
	if err := s.Validate(structured); err != nil {
		return "gave structuredContent that does not fit its output schema: " + err.Error()
	}
	return ""
}

// loaded makes the plugin's sandbox and names its module on the first call. After a failure the next call
// tries again.
func (p *plugin) loaded() (*engine.Module, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.module != nil {
		return p.module, nil
	}
	box, err := sandbox.Open(sandbox.Setup{
		Plugin: p.name, Grant: p.grant, Places: p.host.places, Zone: p.host.zone(), Own: p.host.own,
		GitUser: p.host.gitUser(), Secret: p.host.secret, Messages: p.manifest.Offers.Logging,
		Claimed: func(names abi.Claims) abi.Claims { return p.host.offered.foreign(p, names) }, Log: p.log,
	})
	if err != nil {
		return nil, err
	}
	limits := p.grant.Limits
	p.box = box
	p.module = p.host.engine.Module(engine.Spec{
		Name: p.name, File: p.manifest.ModuleFile(), SHA256: p.manifest.Module.SHA256,
		Memory: limits.Memory, Input: limits.Input, Output: limits.Output, Time: limits.Time, Fuel: limits.Fuel,
		Operations: limits.Operations, LogSize: int(limits.Log), Concurrency: limits.Concurrency, Queue: limits.Queue,
		Reused: p.grant.Reused,
		Env:    box.Env(), FS: box.FS, Operate: box.Operate, Log: p.log,
	})
	return p.module, nil
}

// warm compiles the module ahead of the first call, into the cache: neither the module nor what it may touch
// is needed for that.
func (p *plugin) warm(ctx context.Context) {
	if p.problem != "" || len(p.tools) == 0 && !offersElse(p.manifest) {
		return
	}
	m := p.host.engine.Module(engine.Spec{Name: p.name, File: p.manifest.ModuleFile(), SHA256: p.manifest.Module.SHA256, Log: p.log})
	if err := m.Warm(ctx); err != nil && ctx.Err() == nil {
		p.log.Warn("the module is not ready", "error", err)
	}
}

func (p *plugin) close(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.module == nil {
		return nil
	}
	err := p.module.Close(ctx)
	p.box.Close()
	return err
}
