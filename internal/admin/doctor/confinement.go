package doctor

import (
	"runtime"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// remedies maps layers that a system may lack to what the user can do about it.
var remedies = map[string]string{
	confine.LayerNamespaces: "allow unprivileged user namespaces; without them plugin processes can find out whether files outside of their grants exist, and how large and old they are",
	confine.LayerThreads:    "allow unprivileged user namespaces, and run the host as a user other than root, or on Linux 6.14 or later; without a limit a process that was taken over can start as many threads as the user may have, which the host notices after 100 ms",
	confine.LayerHandles:    "allow unprivileged user namespaces, on Linux 5.12 or later",
	confine.LayerRoot:       "allow unprivileged user namespaces; without its own root directory a process can find out whether files outside of its grants exist, and how large and old they are",
	confine.LayerLandlock:   "use Linux 5.13 or later with Landlock",
	confine.LayerNetwork:    "use Linux 6.7 or later",
	confine.LayerScope:      "use Linux 6.12 or later",
	confine.LayerSeccomp:    "use a kernel with seccomp filters, and a container whose policy allows them",
}

// confinement reports which layers of the confinement of worker processes this system supports. Each missing layer is a separate
// check with its remedy. On a system that has no such layers, one check names all of them.
func (e *examination) confinement() { e.layers(confine.Probe(), runtime.GOOS) }

func (e *examination) layers(report confine.Report, system string) {
	var active, absent []string
	for _, layer := range report {
		switch {
		case layer.State == confine.Active:
			active = append(active, layer.Name)
		case system != "linux":
			absent = append(absent, layer.Name)
		default:
			remedy, known := remedies[layer.Name]
			if !known {
				remedy = "use a system that supports it"
			}
			e.missingLayer(layer.Name+" is missing: "+layer.Reason, remedy)
		}
	}
	if len(absent) > 0 {
		e.missingLayer("this system has none of "+strings.Join(absent, ", ")+": the WebAssembly sandbox is the only boundary",
			"run untrusted plugins on Linux")
	}
	if len(active) > 0 {
		e.ok("confinement", "%s", strings.Join(active, ", "))
	}
}

// missingLayer adds a warning, or a failed check if the config requires all layers.
func (e *examination) missingLayer(detail, remedy string) {
	if e.bound != nil && e.bound.Confined || e.parsed != nil && e.parsed.Server != nil && e.parsed.Server.Confined {
		e.fail("confinement", detail+`; confinement = "required" in [server], so nothing runs`, remedy)
		return
	}
	e.warn("confinement", detail, remedy)
}
