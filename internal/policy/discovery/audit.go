package discovery

import (
	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// FindAudit returns the [audit] of the config in force, as a host with these options would keep it; nil if it would keep no audit log, because
// there is no config, or one that is not trusted, invalid or without a plugin. It reads no plugin.
func FindAudit(o Options) *config.Audit {
	o.Log = hclog.NewNullLogger()
	o, places, err := located(o)
	if err != nil || o.NoConfig {
		return nil
	}
	ceiling, err := FindCeiling(o.System)
	if err != nil {
		return nil
	}
	source, err := findConfig(o, places)
	if err != nil {
		return nil
	}
	c, _, err := loadConfig(o, source, readConfig)
	if err != nil || c == nil {
		return nil
	}
	return ceiling.NarrowAudit(c.Audit)
}
