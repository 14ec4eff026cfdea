package admin

import (
	"strings"

	"github.com/bulkhead-mcp/bulkhead/host/internal/confine"
)

// remedies say what to do about layers that a system does not have.
var remedies = map[string]string{
	confine.LayerNamespaces: "allow unprivileged user namespaces; without them plugins' processes can find out whether files outside of their grants exist, and how large and old they are",
	confine.LayerHandles:    "allow unprivileged user namespaces, on Linux 5.12 or later",
	confine.LayerRoot:       "allow unprivileged user namespaces; without a root of its own a process can find out whether files outside of its grants exist, and how large and old they are",
	confine.LayerLandlock:   "use Linux 5.13 or later with Landlock, and a program that is built with CGO_ENABLED=0",
	confine.LayerNetwork:    "use Linux 6.7 or later, and a program that is built with CGO_ENABLED=0",
	confine.LayerScope:      "use Linux 6.12 or later, and a program that is built with CGO_ENABLED=0",
	confine.LayerSeccomp:    "use a kernel with seccomp filters, and a container whose policy allows them",
}

// confinement tells which layers of the confinement of worker processes this system has. Each that is missing is a
// check of its own.
func (e *examination) confinement() {
	report := confine.Probe()
	var active []string
	for _, layer := range report {
		if layer.State == confine.Active {
			active = append(active, layer.Name)
			continue
		}
		remedy, known := remedies[layer.Name]
		if !known {
			remedy = "run the program on a system that has it"
		}
		e.missingLayer(layer, remedy)
	}
	if len(active) > 0 {
		e.fine("confinement", "%s", strings.Join(active, ", "))
	}
}

// missingLayer is a failure where the config requires all layers.
func (e *examination) missingLayer(layer confine.Layer, remedy string) {
	detail := layer.Name + " is missing: " + layer.Reason
	if e.parsed != nil && e.parsed.Server != nil && e.parsed.Server.Confined {
		e.fail("confinement", detail+`; confinement = "required" in [server], so nothing runs`, remedy)
		return
	}
	e.doubt("confinement", detail, remedy)
}
