package dispatch

import (
	"fmt"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// systemLayers returns the layers of confinement that the system supports.
var systemLayers = sync.OnceValue(confine.Probe)

// checkSystem returns an error if the config requires layers of confinement that the system lacks.
func (g *generation) checkSystem() error {
	if g.catalog.Server == nil || !g.catalog.Server.Confined {
		return nil
	}
	if err := g.checkConfinement(confine.Probe()); err != nil {
		return usage.Errorf("%s: %w", g.catalog.Config, err)
	}
	return nil
}

// checkConfinement checks the layers of confinement that a worker reports. It logs once which layers are missing.
func (g *generation) checkConfinement(report confine.Report) error {
	missing := report.Missing()
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for _, layer := range missing {
		names = append(names, layer.Name+" ("+layer.Reason+")")
	}
	text := strings.Join(names, ", ")
	if g.catalog.Server != nil && g.catalog.Server.Confined {
		return fmt.Errorf(`confinement = "required" in [server], but this system lacks layers of confinement: %s`, text)
	}
	for _, layer := range missing {
		if report.Active(confine.LayerNamespaces) && systemLayers().Active(layer.Name) { // the system supports the layer, so the cause may be temporary, such as a directory that was moved concurrently
			return fmt.Errorf("its process could not be confined: the layer %s is missing (%s): try again", layer.Name, layer.Reason)
		}
	}
	d := g.dispatcher
	d.warnConfinement.Do(func() {
		d.log.Warn("worker processes lack layers of confinement; `bulkhead doctor` explains them", "missing", text)
	})
	return nil
}
