//go:build !linux

package confine

import (
	"os/exec"
	"runtime"
)

// Prepare sets an empty environment for cmd. It returns LayerNamespaces, which is missing on this system.
func Prepare(cmd *exec.Cmd) Layer {
	cmd.Env = []string{}
	return Layer{LayerNamespaces, Missing, noSuchLayer}
}

// Start starts a command that Prepare has prepared.
func Start(cmd *exec.Cmd) error { return cmd.Start() }

type threads struct{}

const noSuchLayer = runtime.GOOS + " has no such layer"

// Apply sets the limits that this system supports. All other layers are missing.
func Apply(c Config) (Report, error) {
	a := application{Config: c}
	none := func() error { return missingError(noSuchLayer) }
	for _, name := range []string{LayerNamespaces, LayerParentDeath, LayerOOMScore, LayerDescriptors, LayerThreads, LayerNoNewPrivs,
		LayerHandles, LayerRoot, LayerCapabilities, LayerNoDump, LayerLandlock, LayerNetwork, LayerScope} {
		a.layer(name, none)
	}
	a.layer(LayerLimits, func() error { return setLimits(a.Config) })
	a.layer(LayerSeccomp, none)
	return a.report, a.err
}

// Probe returns the Report that Apply would return, without restricting the caller.
func Probe() Report {
	report, _ := Apply(Config{off: map[string]bool{LayerLimits: true}})
	for i, l := range report {
		if l.Name == LayerLimits {
			report[i] = Layer{Name: l.Name, State: Active}
		}
	}
	return report
}
