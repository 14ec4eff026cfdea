// Package module makes a module ready to be rendered: its own files, the overlays over them, and the look
// whether it has the shape that its type asks for.
package module

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
)

// Ready is a composed module of the right shape.
type Ready struct {
	*Composed
	Module config.Module
}

// Composer makes modules ready, each once.
type Composer struct {
	Sources Sources
	Layers  Layers
	ready   map[string]result
}

type result struct {
	module *Ready
	err    error
}

// Ready returns a module with its overlays.
func (c *Composer) Ready(module config.Module) (*Ready, error) {
	if done, ok := c.ready[module.ID]; ok {
		return done.module, done.err
	}
	if c.ready == nil {
		c.ready = map[string]result{}
	}
	made, err := c.make(module)
	c.ready[module.ID] = result{made, err}
	return made, err
}

func (c *Composer) make(module config.Module) (*Ready, error) {
	upstream, err := c.Sources.Read(module)
	if err != nil {
		return nil, err
	}
	composed, err := Compose(c.Layers, module.ID, upstream)
	if err != nil {
		return nil, err
	}
	ready := &Ready{composed, module}
	if err := ready.validate(); err != nil {
		return nil, fmt.Errorf("module %s: %w", module.ID, err)
	}
	return ready, nil
}
