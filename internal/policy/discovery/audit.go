package discovery

import (
	"strings"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// FindAudit returns the [audit] of the config in force, as a host with these options would keep it; nil if it would keep no audit log, because
// there is no config, or one that is not trusted. It reads no plugin. What is wrong with other tables does not matter: a variable may be set for
// the server only.
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
	c, problems, untrusted, err := readConfig(o, source)
	if err != nil || untrusted != nil || c == nil {
		return nil
	}
	for _, p := range append(problems.Errors(), config.Expand(c, o.System.LookupEnv).Errors()...) {
		if strings.HasPrefix(p.Key, "audit.") {
			return nil
		}
	}
	return ceiling.NarrowAudit(c.Audit)
}
