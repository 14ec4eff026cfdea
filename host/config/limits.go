package config

import (
	"fmt"
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// DefaultLimits hold where neither the manifest nor the config says anything.
func DefaultLimits() manifest.Limits {
	return manifest.Limits{Memory: 64 << 20, Time: 30 * time.Second, Input: 16 << 20, Output: 8 << 20, Operations: 10_000,
		Log: 1 << 20, Files: 256, Concurrency: 8, Queue: time.Minute, HTTPRequest: 8 << 20, HTTPResponse: 8 << 20, HTTPConcurrency: 4}
}

// Ceilings are the most that a manifest gets by itself; a config can give more.
func Ceilings() manifest.Limits {
	return manifest.Limits{Memory: 256 << 20, Time: 5 * time.Minute, Input: 16 << 20, Output: 64 << 20, Operations: 100_000,
		Log: 16 << 20, Files: 1024, Concurrency: 64, Queue: 5 * time.Minute, HTTPRequest: 64 << 20, HTTPResponse: 64 << 20, HTTPConcurrency: 32}
}

// limits bounds what the manifest needs by what the config allows: the plugin's own table, else the
// defaults, else the ceilings. Where the manifest is silent, what the config allows stands.
func (c *decision) limits(d Defaults) manifest.Limits {
	need, table, own, most := c.m.Limits, c.p.Limits, DefaultLimits(), Ceilings()
	size, duration := manifest.FormatSize, time.Duration.String
	return manifest.Limits{
		Memory:      limit(c, "memory", need.Memory, first(table.Memory, d.Limits.Memory), own.Memory, most.Memory, size),
		Time:        limit(c, "time", need.Time, first(table.Time, d.Limits.Time), own.Time, most.Time, duration),
		Fuel:        fuel(need.Fuel, first(table.Fuel, d.Limits.Fuel)),
		Input:       limit(c, "input", need.Input, first(table.Input, d.Limits.Input), own.Input, most.Input, size),
		Output:      limit(c, "output", need.Output, first(table.Output, d.Limits.Output), own.Output, most.Output, size),
		Operations:  limit(c, "operations", need.Operations, first(table.Operations, d.Limits.Operations), own.Operations, most.Operations, number),
		Log:         limit(c, "log", need.Log, first(table.Log, d.Limits.Log), own.Log, most.Log, size),
		Files:       limit(c, "files", need.Files, first(table.Files, d.Limits.Files), own.Files, most.Files, number),
		Concurrency: limit(c, "concurrency", need.Concurrency, first(table.Concurrency, d.Limits.Concurrency), own.Concurrency, most.Concurrency, number),
		Queue:       limit(c, "queue", need.Queue, first(table.Queue, d.Limits.Queue), own.Queue, most.Queue, duration),

		HTTPRequest: limit(c, "http_request", need.HTTPRequest, first(table.HTTPRequest, d.Limits.HTTPRequest),
			own.HTTPRequest, most.HTTPRequest, size),
		HTTPResponse: limit(c, "http_response", need.HTTPResponse, first(table.HTTPResponse, d.Limits.HTTPResponse),
			own.HTTPResponse, most.HTTPResponse, size),
		HTTPConcurrency: limit(c, "http_concurrency", need.HTTPConcurrency, first(table.HTTPConcurrency, d.Limits.HTTPConcurrency),
			own.HTTPConcurrency, most.HTTPConcurrency, number),
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
