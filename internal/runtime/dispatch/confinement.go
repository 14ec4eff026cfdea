package dispatch

import (
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
)

// checkSystem returns an error if the config requires layers of confinement that the system lacks.
func (g *generation) checkSystem() error {
	if !g.catalog().RequiresConfinement() {
		return nil
	}
	if err := g.checkConfinement(confine.Probe()); err != nil {
		return usage.Errorf("%s: %w", g.catalog().Config, err)
	}
	return nil
}

// checkConfinement checks the layers of confinement that a worker or a compiler reports. It logs once which layers are missing.
func (g *generation) checkConfinement(report confine.Report) error {
	if err := report.Check(g.catalog().RequiresConfinement()); err != nil {
		return err
	}
	if missing := report.Missing(); len(missing) > 0 {
		d := g.dispatcher
		d.warnConfinement.Do(func() {
			d.log.Warn("worker processes lack layers of confinement; `bulkhead doctor` explains them", "missing", confine.Describe(missing))
		})
	}
	return nil
}
