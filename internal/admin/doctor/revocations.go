package doctor

import (
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// revocations checks the lists of revoked plugins that the ceiling and the config name. Without any it adds no check.
func (e *examination) revocations(now time.Time) {
	const name = "revoked plugins"
	ceiling, err := discovery.FindCeiling(e.options.System)
	if err != nil {
		return // the check "ceiling" reports the problem
	}
	lists, err := discovery.RevocationLists(e.options.System, ceiling, e.parsed)
	if err != nil {
		e.fail(name, err.Error(), "")
		return
	}
	for _, l := range lists {
		why := strings.Join(l.Problems, "; ")
		switch {
		case l.List == nil && why == "":
			e.fail(name, l.At()+": the list is not on this machine, so no plugin is served", l.Remedy())
		case l.List == nil:
			e.fail(name, l.At()+": there is no usable list, so no plugin is served: "+why, l.Remedy())
		case why != "":
			e.warn(name, l.At()+": "+why, l.Remedy())
		case l.IsExpired(now):
			e.warn(name, l.At()+": the list expired on "+l.List.LastDay()+", and stays in force", l.Remedy())
		default:
			e.ok(name, "%s: serial %d, entries: %d, valid until %s", l.At(), l.List.Serial, len(l.List.Revoked), l.List.LastDay())
		}
	}
}
