package manifest

import (
	"strconv"
	"time"
)

// Limit is one field of the struct Limits, with its key in TOML.
type Limit struct {
	Key    string
	Value  int64  // value of the limit in bytes, nanoseconds or items; 0: unset
	Text   string // formatted value: 64MiB, 30s, 256
	quoted bool   // whether the value is a string in TOML
}

// TOML returns the value of the limit in TOML syntax.
func (l Limit) TOML() string {
	if l.quoted {
		return strconv.Quote(l.Text)
	}
	return l.Text
}

// List returns all limits of l, in the order of docs/manifest.md.
func (l Limits) List() []Limit {
	size := func(key string, n int64) Limit { return Limit{Key: key, Value: n, Text: FormatSize(n), quoted: true} }
	count := func(key string, n int64) Limit { return Limit{Key: key, Value: n, Text: strconv.FormatInt(n, 10)} }
	duration := func(key string, d time.Duration) Limit {
		return Limit{Key: key, Value: int64(d), Text: d.String(), quoted: true}
	}
	return []Limit{
		size("memory", l.Memory), duration("time", l.Time), count("fuel", l.Fuel), size("input", l.Input), size("output", l.Output),
		count("operations", int64(l.Operations)), size("log", l.Log), count("files", int64(l.Files)),
		count("concurrency", int64(l.Concurrency)), duration("queue", l.Queue), duration("ask", l.Ask),
		size("http_request", l.HTTPRequest), size("http_response", l.HTTPResponse), count("http_concurrency", int64(l.HTTPConcurrency)),
	}
}

// Pick returns a copy of l without the limits whose keys keep rejects by returning false. These limits are unset in the copy.
func (l Limits) Pick(keep func(key string) bool) Limits {
	for key, field := range map[string]any{
		"memory": &l.Memory, "time": &l.Time, "fuel": &l.Fuel, "input": &l.Input, "output": &l.Output, "operations": &l.Operations,
		"log": &l.Log, "files": &l.Files, "concurrency": &l.Concurrency, "queue": &l.Queue, "ask": &l.Ask,
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

// Min returns, for each limit, the smaller one of the values in l and bound. If one of the two is 0, Min returns the other.
func (l Limits) Min(bound Limits) Limits {
	return Limits{
		Memory: least(l.Memory, bound.Memory), Time: least(l.Time, bound.Time), Fuel: least(l.Fuel, bound.Fuel),
		Input: least(l.Input, bound.Input), Output: least(l.Output, bound.Output), Operations: least(l.Operations, bound.Operations),
		Log: least(l.Log, bound.Log), Files: least(l.Files, bound.Files), Concurrency: least(l.Concurrency, bound.Concurrency),
		Queue: least(l.Queue, bound.Queue), Ask: least(l.Ask, bound.Ask), HTTPRequest: least(l.HTTPRequest, bound.HTTPRequest),
		HTTPResponse: least(l.HTTPResponse, bound.HTTPResponse), HTTPConcurrency: least(l.HTTPConcurrency, bound.HTTPConcurrency),
	}
}

func least[T int | int64 | time.Duration](a, b T) T {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
