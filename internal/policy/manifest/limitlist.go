package manifest

import (
	"math"
	"strconv"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// Limit is one field of the struct Limits, with its key in TOML.
type Limit struct {
	Key   string
	Value int64  // value of the limit in bytes, nanoseconds or items; 0: unset
	Text  string // formatted value: 64MiB, 30s, 256; Unbounded if it is unset
	unit  unit
}

// Unbounded is the text of a limit that is unset.
const Unbounded = "unbounded"

// TOML returns the value of the limit in TOML syntax.
func (l Limit) TOML() string {
	if l.unit.quoted {
		return strconv.Quote(l.Text)
	}
	return l.Text
}

// unit is what the values of a limit count, with their form in TOML.
type unit struct {
	read   func(t *tomlfile.Table, key string, least, most int64) int64
	format func(int64) string
	quoted bool // whether the form is a string
}

var (
	ofBytes = unit{ReadSize, FormatSize, true}
	ofItems = unit{ReadCount, func(n int64) string { return strconv.FormatInt(n, 10) }, false}
	ofTime  = unit{func(t *tomlfile.Table, key string, _, _ int64) int64 { return int64(ReadDuration(t, key)) },
		func(n int64) string { return time.Duration(n).String() }, true}
)

// limitField is a field of a Limits, with its key in TOML, its minimum and its maximum.
type limitField struct {
	key         string
	unit        unit
	least, most int64
	get         func() int64
	set         func(int64)
}

func limitFieldOf[T int | int64 | time.Duration](field *T, key string, u unit, least, most int64) limitField {
	return limitField{key, u, least, most, func() int64 { return int64(*field) }, func(n int64) { *field = T(n) }}
}

// fields returns the fields of l, in the order of docs/manifest.md. A module's memory consists of pages of 64 KiB and has at most 4 GiB.
// The host accepts no client's message that is larger than the maximum of input. ReadDuration has the bounds of durations.
func (l *Limits) fields() []limitField {
	return []limitField{
		limitFieldOf(&l.Memory, "memory", ofBytes, 64<<10, 4<<30),
		limitFieldOf(&l.Time, "time", ofTime, 0, 0),
		limitFieldOf(&l.Fuel, "fuel", ofItems, 1, math.MaxInt64),
		limitFieldOf(&l.Input, "input", ofBytes, 1<<10, 16<<20),
		limitFieldOf(&l.Output, "output", ofBytes, 1<<10, 1<<30),
		limitFieldOf(&l.Operations, "operations", ofItems, 1, 1_000_000_000),
		limitFieldOf(&l.Log, "log", ofBytes, 1<<10, 1<<30),
		limitFieldOf(&l.Files, "files", ofItems, 1, 65536),
		limitFieldOf(&l.Concurrency, "concurrency", ofItems, 1, 1024),
		limitFieldOf(&l.Queue, "queue", ofTime, 0, 0),
		limitFieldOf(&l.Ask, "ask", ofTime, 0, 0),
		limitFieldOf(&l.Task, "task", ofTime, 0, 0),
		limitFieldOf(&l.HTTPRequest, "http_request", ofBytes, 1<<10, 1<<30),
		limitFieldOf(&l.HTTPResponse, "http_response", ofBytes, 1<<10, 1<<30),
		limitFieldOf(&l.HTTPConcurrency, "http_concurrency", ofItems, 1, 1024),
		limitFieldOf(&l.Result, KeyResult, ofBytes, MinResult, 1<<30),
	}
}

// KeyResult is the key of the limit that is no need of a plugin: what a model can read depends on its client.
const KeyResult = "result"

// MinResult is the least limit of a result, in bytes.
const MinResult = 1 << 10

// ReadLimits reads a table of limits of a config. The fields of absent keys are 0.
func ReadLimits(t *tomlfile.Table) (l Limits) {
	for _, f := range l.fields() {
		f.set(f.unit.read(t, f.key, f.least, f.most))
	}
	return l
}

// readNeeds reads the table [limits] of a manifest. The fields of absent keys are 0.
func readNeeds(t *tomlfile.Table) Limits {
	if t.Has(KeyResult) {
		t.Fault(KeyResult, "is set by configs only", "remove it: limits.result in the config bounds what models get of a result")
	}
	return ReadLimits(t)
}

// List returns all limits of l, in the order of docs/manifest.md.
func (l Limits) List() []Limit {
	var list []Limit
	for _, f := range l.fields() {
		limit := Limit{Key: f.key, Value: f.get(), Text: Unbounded, unit: f.unit}
		if limit.Value != 0 {
			limit.Text = f.unit.format(limit.Value)
		}
		list = append(list, limit)
	}
	return list
}

// Map returns the limits whose values f returns for those of l. i is the index of the limit in List.
func (l Limits) Map(f func(i int, limit Limit) int64) (out Limits) {
	fields := out.fields()
	for i, limit := range l.List() {
		fields[i].set(f(i, limit))
	}
	return out
}

// Min returns, for each limit, the smaller one of the values in l and bound. If one of the two is 0, Min returns the other.
func (l Limits) Min(bound Limits) Limits {
	bounds := bound.List()
	return l.Map(func(i int, limit Limit) int64 {
		if limit.Value == 0 || bounds[i].Value == 0 {
			return max(limit.Value, bounds[i].Value)
		}
		return min(limit.Value, bounds[i].Value)
	})
}
