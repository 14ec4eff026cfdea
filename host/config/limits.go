package config

import (
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// defaultLimits hold where neither the manifest nor the config says anything.
func defaultLimits() manifest.Limits {
	return manifest.Limits{Memory: 64 << 20, Time: 30 * time.Second, Output: 8 << 20, Concurrency: 8}
}

// ceilings are the most that a manifest gets by itself; a config can give more.
func ceilings() manifest.Limits {
	return manifest.Limits{Memory: 256 << 20, Time: 5 * time.Minute, Output: 64 << 20, Concurrency: 64}
}

// limits bounds what the manifest needs by what the config allows: the plugin's own table, else the
// defaults, else the ceilings. Where the manifest is silent, what the config allows stands.
func (c *decision) limits(d Defaults) manifest.Limits {
	need, allow, own, most := c.m.Limits, c.p.Limits, defaultLimits(), ceilings()
	return manifest.Limits{
		Memory:      limit(c, "memory", need.Memory, first(allow.Memory, d.Limits.Memory), own.Memory, most.Memory, manifest.FormatSize),
		Time:        limit(c, "time", need.Time, first(allow.Time, d.Limits.Time), own.Time, most.Time, time.Duration.String),
		Output:      limit(c, "output", need.Output, first(allow.Output, d.Limits.Output), own.Output, most.Output, manifest.FormatSize),
		Concurrency: limit(c, "concurrency", need.Concurrency, first(allow.Concurrency, d.Limits.Concurrency), own.Concurrency, most.Concurrency, number),
		Fuel:        fuel(need.Fuel, first(allow.Fuel, d.Limits.Fuel)),
	}
}

func number(n int) string { return fmt.Sprint(n) }

func limit[T int | int64 | time.Duration](c *decision, key string, need, allow, silent, most T, format func(T) string) T {
	switch {
	case need == 0 && allow == 0:
		return silent
	case need == 0:
		return allow
	case allow > 0:
		return min(need, allow)
	case need > most:
		c.dropped(0, "limits."+key, fmt.Sprintf("asks for %s and gets %s, the most without a config's word", format(need), format(most)),
			fmt.Sprintf("set limits.%s in the config", key))
		return most
	}
	return need
}

func fuel(need, allow int64) int64 {
	if need > 0 && allow > 0 {
		return min(need, allow)
	}
	return max(need, allow)
}

func first[T int | int64 | time.Duration](a, b T) T {
	if a != 0 {
		return a
	}
	return b
}
