package config

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// DefaultLimits returns the limits that apply where neither the manifest nor the config sets any.
func DefaultLimits() manifest.Limits {
	return manifest.Limits{Memory: 64 << 20, Time: 30 * time.Second, Input: 16 << 20, Output: 8 << 20, Operations: 10_000,
		Log: 1 << 20, Files: 256, Concurrency: 8, Queue: time.Minute, Ask: 10 * time.Minute, Task: 10 * time.Minute, HTTPRequest: 8 << 20, HTTPResponse: 8 << 20, HTTPConcurrency: 4}
}

// Whole returns g without a limit of results, and a Cut if there was one. why says why results are not shortened.
func (g Grant) Whole(why string) Grant {
	if g.Limits.Result > 0 {
		g.Cuts = append(slices.Clone(g.Cuts), Cut{Key: "limits." + manifest.KeyResult, What: manifest.FormatSize(g.Limits.Result), Why: why})
		g.Limits.Result = 0
	}
	return g
}

// Ceilings returns the highest limits that a manifest can set if no config sets a limit.
func Ceilings() manifest.Limits {
	return manifest.Limits{Memory: 256 << 20, Time: 5 * time.Minute, Input: 16 << 20, Output: 64 << 20, Operations: 100_000,
		Log: 16 << 20, Files: 1024, Concurrency: 64, Queue: 5 * time.Minute, Ask: time.Hour, Task: time.Hour, HTTPRequest: 64 << 20, HTTPResponse: 64 << 20, HTTPConcurrency: 32}
}

// limits returns the effective limits. The bound of a limit is its value in the plugin's table or, if that is unset, its value in
// d. If both the manifest's limit and the bound are set, the smaller one is effective; if one is set, it is effective. Without a
// bound, the manifest's limit is at most that of Ceilings.
func (c *decision) limits(d Defaults) manifest.Limits {
	table, defaults, unset, most := c.p.Limits.List(), d.Limits.List(), DefaultLimits().List(), Ceilings().List()
	return c.m.Limits.Map(func(i int, need manifest.Limit) int64 {
		bound := cmp.Or(table[i].Value, defaults[i].Value)
		switch {
		case need.Value == 0:
			return cmp.Or(bound, unset[i].Value)
		case bound > 0:
			return min(need.Value, bound)
		case most[i].Value > 0 && need.Value > most[i].Value: // fuel has no maximum
			c.warnDropped(0, "limits."+need.Key, fmt.Sprintf("asks for %s and gets %s, the maximum without a config setting", need.Text, most[i].Text),
				fmt.Sprintf("set limits.%s in the config", need.Key))
			return most[i].Value
		}
		return need.Value
	})
}
