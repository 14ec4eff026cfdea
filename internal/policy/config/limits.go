package config

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// DefaultLimits returns the limits that apply where neither the manifest nor the config sets any.
func DefaultLimits() manifest.Limits {
	return manifest.Limits{Memory: 64 << 20, Time: 30 * time.Second, Input: 16 << 20, Output: 8 << 20, Operations: 10_000,
		Log: 1 << 20, Files: 256, Concurrency: 8, Queue: time.Minute, Ask: 10 * time.Minute, HTTPRequest: 8 << 20, HTTPResponse: 8 << 20, HTTPConcurrency: 4}
}

// Ceilings returns the highest limits that a manifest can set if no config sets a limit.
func Ceilings() manifest.Limits {
	return manifest.Limits{Memory: 256 << 20, Time: 5 * time.Minute, Input: 16 << 20, Output: 64 << 20, Operations: 100_000,
		Log: 16 << 20, Files: 1024, Concurrency: 64, Queue: 5 * time.Minute, Ask: time.Hour, HTTPRequest: 64 << 20, HTTPResponse: 64 << 20, HTTPConcurrency: 32}
}

// limits returns the effective limits. The bound of a limit is its value in the plugin's table or, if that is unset, its value in
// d. If both the manifest's limit and the bound are set, the smaller one is effective; if one is set, it is effective. Without a
// bound, the manifest's limit is at most that of Ceilings.
func (c *decision) limits(d Defaults) manifest.Limits {
	need, table, own, most := c.m.Limits, c.p.Limits, DefaultLimits(), Ceilings()
	size, duration := manifest.FormatSize, time.Duration.String
	return manifest.Limits{
		Memory:      limit(c, "memory", need.Memory, cmp.Or(table.Memory, d.Limits.Memory), own.Memory, most.Memory, size),
		Time:        limit(c, "time", need.Time, cmp.Or(table.Time, d.Limits.Time), own.Time, most.Time, duration),
		Fuel:        fuel(need.Fuel, cmp.Or(table.Fuel, d.Limits.Fuel)),
		Input:       limit(c, "input", need.Input, cmp.Or(table.Input, d.Limits.Input), own.Input, most.Input, size),
		Output:      limit(c, "output", need.Output, cmp.Or(table.Output, d.Limits.Output), own.Output, most.Output, size),
		Operations:  limit(c, "operations", need.Operations, cmp.Or(table.Operations, d.Limits.Operations), own.Operations, most.Operations, strconv.Itoa),
		Log:         limit(c, "log", need.Log, cmp.Or(table.Log, d.Limits.Log), own.Log, most.Log, size),
		Files:       limit(c, "files", need.Files, cmp.Or(table.Files, d.Limits.Files), own.Files, most.Files, strconv.Itoa),
		Concurrency: limit(c, "concurrency", need.Concurrency, cmp.Or(table.Concurrency, d.Limits.Concurrency), own.Concurrency, most.Concurrency, strconv.Itoa),
		Queue:       limit(c, "queue", need.Queue, cmp.Or(table.Queue, d.Limits.Queue), own.Queue, most.Queue, duration),
		Ask:         limit(c, "ask", need.Ask, cmp.Or(table.Ask, d.Limits.Ask), own.Ask, most.Ask, duration),

		HTTPRequest: limit(c, "http_request", need.HTTPRequest, cmp.Or(table.HTTPRequest, d.Limits.HTTPRequest),
			own.HTTPRequest, most.HTTPRequest, size),
		HTTPResponse: limit(c, "http_response", need.HTTPResponse, cmp.Or(table.HTTPResponse, d.Limits.HTTPResponse),
			own.HTTPResponse, most.HTTPResponse, size),
		HTTPConcurrency: limit(c, "http_concurrency", need.HTTPConcurrency, cmp.Or(table.HTTPConcurrency, d.Limits.HTTPConcurrency),
			own.HTTPConcurrency, most.HTTPConcurrency, strconv.Itoa),
	}
}

func limit[T int | int64 | time.Duration](c *decision, key string, need, allow, unset, most T, format func(T) string) T {
	switch {
	case need == 0 && allow == 0:
		return unset
	case need == 0:
		return allow
	case allow > 0:
		return min(need, allow)
	case need > most:
		c.warnDropped(0, "limits."+key, fmt.Sprintf("asks for %s and gets %s, the maximum without a config setting", format(need), format(most)),
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
