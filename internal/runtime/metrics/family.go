package metrics

import (
	"slices"
	"strings"
	"sync"
)

// Bounds of a family. Names of tools, plugins and clients come from the config and from manifests, so their number is not known.
const (
	maxLabels = 4
	maxSeries = 1000 // beyond it, the names in the labels of a new series are replaced by Other
	maxOthers = 200  // beyond it, all labels of a new series are replaced by Other
)

// Other is the value of a label in the place of those beyond the bound of a family.
const Other = "other"

// NoTable is the client in the place of those without a table of [[clients]], as catalog.Key has it.
const NoTable = "*"

// Labels whose values are names. The values of all other labels are constants of the host.
const (
	Plugin = "plugin"
	Tool   = "tool"
	Client = "client"
	// genAITool is the label of a tool in the conventions of OpenTelemetry.
	genAITool = "gen_ai_tool_name"
)

var names = []string{Plugin, Tool, Client, genAITool}

// kind is the type of a family in the text format.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// Family is one metric: its series, each for other values of its labels. It is safe for concurrent use.
type Family struct {
	kind       kind
	name, help string
	labels     []string
	bounds     []float64 // upper bounds of a histogram's buckets, without the last, which is infinite

	mu     sync.Mutex
	series map[values]*series
}

// values are the values of a family's labels, in their order.
type values [maxLabels]string

// series is what a family has counted for one combination of labels.
type series struct {
	values  values
	value   float64  // the value, or the sum of a histogram
	count   uint64   // of a histogram
	buckets []uint64 // of a histogram: the number of values in each bucket, not in those below it
}

func newFamily(kind kind, name, help string, labels ...string) *Family {
	return &Family{kind: kind, name: name, help: help, labels: labels, series: map[values]*series{}}
}

// Add adds n to the series with the values of the labels.
func (f *Family) Add(n float64, labels ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.of(labels).value += n
}

// Observe adds a value to the histogram with the values of the labels.
func (f *Family) Observe(value float64, labels ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.of(labels)
	if s.buckets == nil {
		s.buckets = make([]uint64, len(f.bounds)+1)
	}
	bucket, _ := slices.BinarySearch(f.bounds, value)
	s.buckets[bucket]++
	s.count++
	s.value += value
}

// of returns the series with the values of the labels, and adds it if there is none. The caller holds the lock.
func (f *Family) of(labels []string) *series {
	var key values
	copy(key[:], labels)
	if s := f.series[key]; s != nil {
		return s
	}
	for i := range f.labels {
		if len(f.series) >= maxSeries && slices.Contains(names, f.labels[i]) && key[i] != "" || len(f.series) >= maxSeries+maxOthers {
			key[i] = Other
		}
		key[i] = strings.Clone(strings.ToValidUTF8(key[i], "\uFFFD")) // it may be part of a long message
	}
	s := f.series[key]
	if s == nil {
		s = &series{values: key}
		f.series[key] = s
	}
	return s
}

// retain removes the series whose label has a name that keep does not report.
func (f *Family) retain(label string, keep func(name string) bool) {
	at := slices.Index(f.labels, label)
	if at < 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for key := range f.series {
		if name := key[at]; name != "" && name != Other && !keep(name) {
			delete(f.series, key)
		}
	}
}

// snapshot returns copies of the series, sorted by their labels, so that writing them does not hold the lock.
func (f *Family) snapshot() []series {
	f.mu.Lock()
	all := make([]series, 0, len(f.series))
	for _, s := range f.series {
		one := *s
		one.buckets = slices.Clone(s.buckets)
		all = append(all, one)
	}
	f.mu.Unlock()
	slices.SortFunc(all, func(a, b series) int { return slices.Compare(a.values[:], b.values[:]) })
	return all
}
