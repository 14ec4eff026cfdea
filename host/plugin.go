package host

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/network"
	"github.com/bulkhead-mcp/bulkhead/internal/rawjson"
	"github.com/bulkhead-mcp/bulkhead/internal/schema"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/worker"
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
	slots   slots
	log     hclog.Logger

	worker  func() *worker.Supervisor // made on the first call
	network func() (*network.Network, error)
	started atomic.Bool // worker was called
}

// tool is a granted tool.
type tool struct {
	manifest.Tool
	offered string // the name that clients know it by
	number  int    // of its output schema in wire.Setup, from 1; 0: it has none
	// The schema is compiled on the first call: that takes longer than reading the whole manifest.
	schema func() (*schema.Schema, error)
}

// newPlugin takes the decision on one candidate.
func (h *Host) newPlugin(c discovery.Candidate, defaults config.Defaults, flags config.Flags) *plugin {
	p := &plugin{host: h, name: c.Name(), dir: c.Entry.Path, manifest: c.Manifest, problems: c.Problems}
	p.log = h.log.Named(p.name)
	if c.Problems.Err() == nil {
		places := placesOf(h.places, p.name)
		if places.NoState != h.places.NoState {
			p.log.Warn("the plugin gets no state folder", "reason", places.NoState)
		}
		grant, problems := config.Decide(c.Manifest, c.Entry, defaults, places, flags)
		p.grant = grant
		p.slots.free = max(grant.Limits.Concurrency, 1)
		p.queue.concurrentReads = c.Manifest.Reads == manifest.ReadsConcurrent
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
		if _, err := os.Stat(c.Manifest.ModuleFile()); err != nil {
			p.problem = fmt.Sprintf("there is no module at %s: build the plugin with `bulkhead plugin build`", c.Manifest.ModuleFile())
			p.log.Error("the plugin is left out", "reason", p.problem)
		}
	}
	for _, warning := range p.problems.Warnings() {
		p.log.Warn(warning.String())
	}
	schemas := 0
	for _, t := range p.grant.Tools {
		tool := newTool(t, p.grant.Prefix)
		if t.Output != nil {
			schemas++
			tool.number = schemas
		}
		p.tools = append(p.tools, tool)
	}
	p.worker, p.network = sync.OnceValue(p.newWorker), sync.OnceValues(p.newNetwork)
	return p
}

func newTool(t manifest.Tool, prefix string) *tool {
	input := sync.OnceValues(func() (*schema.Schema, error) { return schema.Compile(t.Input) })
	return &tool{Tool: t, offered: prefix + t.Name, schema: input}
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
func (t *tool) check(arguments json.RawMessage, l manifest.Limits) error {
	s, err := t.schema()
	if err != nil {
		return fmt.Errorf("has an input %w", err)
	}
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	if err := s.ValidateWithin(arguments, checkedValues(l.Memory+l.Input)); err != nil {
		return fmt.Errorf("was called with arguments that do not fit its schema: %w", err)
	}
	return nil
}

// checkedValues is how many values are decoded to be checked by a schema: as many as fit in the memory that
// the call itself may take.
func checkedValues(bytes int64) int { return int(bytes / schema.BytesPerValue) }

// warm compiles the module ahead of the first call, into the cache: neither the module nor what it may touch
// is needed for that.
func (p *plugin) warm(ctx context.Context) {
	if p.problem != "" || len(p.tools) == 0 && !offersElse(p.manifest) {
		return
	}
	if err := p.host.store.Warm(ctx, p.module()); err != nil && ctx.Err() == nil {
		p.log.Warn("the module is not ready", "error", err)
	}
}

// close ends the plugin's worker processes, whatever they do.
func (p *plugin) close() {
	if !p.started.Load() {
		return
	}
	p.worker().Close()
	if n, err := p.network(); err == nil {
		n.Close()
	}
}
