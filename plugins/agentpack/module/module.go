// Package module reads the modules of a config repo. Composer.Ready reads the files of a module's source, which is a
// directory, a file or a git checkout. It applies the overlays of the global, machine and project layers, and checks
// that the result is valid for the type of the module.
package module

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/config"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
)

// Ready is a composed and valid module.
type Ready struct {
	*Composed
	Module config.Module
	sums   map[string]string // cached SHA-256 sums; the key is the path of the file
}

// SHA256 returns the SHA-256 of a file in hexadecimal. It caches the sum, because several targets deploy the same file.
func (r *Ready) SHA256(file string) string {
	sum, known := r.sums[file]
	if !known {
		if r.sums == nil {
			r.sums = map[string]string{}
		}
		sum = digest.Hex(r.Files[file])
		r.sums[file] = sum
	}
	return sum
}

// Composer composes modules. It composes each module only once.
type Composer struct {
	Sources Sources
	Layers  Layers
	ready   map[string]result
}

type result struct {
	module *Ready
	err    error
}

// Ready composes and validates a module, and returns the result.
func (c *Composer) Ready(module config.Module) (*Ready, error) {
	if cached, ok := c.ready[module.ID]; ok {
		return cached.module, cached.err
	}
	if c.ready == nil {
		c.ready = map[string]result{}
	}
	composed, err := c.make(module)
	c.ready[module.ID] = result{composed, err}
	return composed, err
}

func (c *Composer) make(module config.Module) (*Ready, error) {
	upstream, warnings, err := c.Sources.Read(module)
	if err != nil {
		return nil, err
	}
	composed, err := Compose(c.Layers, module.ID, upstream)
	if err != nil {
		return nil, err
	}
	composed.Warnings = append(warnings, composed.Warnings...)
	ready := &Ready{Composed: composed, Module: module}
	if err := ready.validate(); err != nil {
		return nil, fmt.Errorf("module %s: %w", module.ID, err)
	}
	return ready, nil
}
