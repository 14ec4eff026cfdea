package manifest

import (
	"strconv"
	"time"
)

// Limit is one field of Limits with its key.
type Limit struct {
	Key    string
	Value  int64  // bytes, nanoseconds or a count; 0: unset
	Text   string // formatted: 64MiB, 30s, 256
	quoted bool   // a string in TOML
}

// TOML returns the value in TOML syntax.
func (l Limit) TOML() string {
	if l.quoted {
		return strconv.Quote(l.Text)
	}
	return l.Text
}

// List returns all limits, in the order of docs/manifest.md.
func (l Limits) List() []Limit {
	size := func(key string, n int64) Limit { return Limit{Key: key, Value: n, Text: FormatSize(n), quoted: true} }
	count := func(key string, n int64) Limit { return Limit{Key: key, Value: n, Text: strconv.FormatInt(n, 10)} }
	duration := func(key string, d time.Duration) Limit {
		return Limit{Key: key, Value: int64(d), Text: d.String(), quoted: true}
	}
	return []Limit{
		size("memory", l.Memory), duration("time", l.Time), count("fuel", l.Fuel), size("input", l.Input), size("output", l.Output),
		count("operations", int64(l.Operations)), size("log", l.Log), count("files", int64(l.Files)),
		count("concurrency", int64(l.Concurrency)), duration("queue", l.Queue),
		size("http_request", l.HTTPRequest), size("http_response", l.HTTPResponse), count("http_concurrency", int64(l.HTTPConcurrency)),
	}
}

// Pick returns a copy of l that has only the limits for whose keys keep returns true. All others are unset.
func (l Limits) Pick(keep func(key string) bool) Limits {
	for key, field := range map[string]any{
		"memory": &l.Memory, "time": &l.Time, "fuel": &l.Fuel, "input": &l.Input, "output": &l.Output, "operations": &l.Operations,
		"log": &l.Log, "files": &l.Files, "concurrency": &l.Concurrency, "queue": &l.Queue,
		"http_request": &l.HTTPRequest, "http_response": &l.HTTPResponse, "http_concurrency": &l.HTTPConcurrency,
	} {
		if keep(key) {
			continue
		}
		switch field := field.(type) {
		case *int64:
			*field = 0
		case *int:
			*field = 0
		case *time.Duration:
			*field = 0
		}
	}
	return l
}
