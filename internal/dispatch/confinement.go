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
		return fmt.Errorf(`this system cannot confine worker processes as confinement = "required" in [server] wants: missing are %s`, text)
	}
	for _, layer := range missing {
		if report.Active(confine.LayerNamespaces) && systemLayers().Active(layer.Name) { // the cause may be temporary, such as a directory that was moved concurrently
			return fmt.Errorf("its process could not be confined: the layer %s is missing (%s): try again", layer.Name, layer.Reason)
		}
	}
	d.warnConfinement.Do(func() {
		d.log.Warn("worker processes are not confined in every way; `bulkhead doctor` explains", "missing", text)
	})
	return nil
}
