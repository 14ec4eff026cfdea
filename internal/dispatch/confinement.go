package dispatch

import (
	"fmt"
	"strings"
	"sync"

	"github.com/bulkhead-mcp/bulkhead/internal/confine"
)

// systemLayers returns the layers of confinement that the system supports.
var systemLayers = sync.OnceValue(confine.Probe)

// checkConfinement checks the layers of confinement that a worker reports, and logs once which of them are missing.
func (d *Dispatcher) checkConfinement(report confine.Report) error {
	missing := report.Missing()
	if len(missing) == 0 {
		return nil
	}
	var names []string
	for _, layer := range missing {
		names = append(names, layer.Name+" ("+layer.Reason+")")
	}
	text := strings.Join(names, ", ")
	if d.confinementRequired {
		return fmt.Errorf(`confinement = "required" in [server], but this system lacks layers of confinement: %s`, text)
	}
	for _, layer := range missing {
		if report.Active(confine.LayerNamespaces) && systemLayers().Active(layer.Name) { // the cause may be temporary, such as a directory that was moved concurrently
			return fmt.Errorf("its process could not be confined: the layer %s is missing (%s): try again", layer.Name, layer.Reason)
		}
	}
	d.warnConfinement.Do(func() {
		d.log.Warn("worker processes lack layers of confinement; `bulkhead doctor` explains them", "missing", text)
	})
	return nil
}
