package metrics

import (
	"math"
	"strconv"
	"strings"
)

// ContentType is the media type of the text format.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Page collects what is read at the time of a scrape rather than counted, and encodes all families in the text format of Prometheus.
type Page struct{ families []*Family }

// Gauge adds a family of gauges, such as lengths of queues.
func (p *Page) Gauge(name, help string, labels ...string) *Family {
	return p.add(newFamily(gauge, name, help, labels...))
}

// Counter adds a family of counters that others have counted.
func (p *Page) Counter(name, help string, labels ...string) *Family {
	return p.add(newFamily(counter, name, help, labels...))
}

func (p *Page) add(f *Family) *Family {
	p.families = append(p.families, f)
	return f
}

var (
	escapeHelp  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	escapeValue = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// appendText appends the family in the text format.
func (f *Family) appendText(b []byte) []byte {
	b = append(b, "# HELP "+f.name+" "+escapeHelp.Replace(f.help)+"\n# TYPE "+f.name+" "+string(f.kind)+"\n"...)
	for _, s := range f.snapshot() {
		if f.kind != histogram {
			b = f.appendSample(b, "", s.values, "", s.value)
			continue
		}
		below := uint64(0)
		for i, n := range s.buckets {
			below += n
			bound := math.Inf(1)
			if i < len(f.bounds) {
				bound = f.bounds[i]
			}
			b = f.appendSample(b, "_bucket", s.values, number(bound), float64(below))
		}
		b = f.appendSample(b, "_sum", s.values, "", s.value)
		b = f.appendSample(b, "_count", s.values, "", float64(s.count))
	}
	return b
}

// appendSample appends one line. bound is the upper bound of a bucket; empty if it is none.
func (f *Family) appendSample(b []byte, suffix string, v values, bound string, value float64) []byte {
	b = append(append(b, f.name...), suffix...)
	separator := byte('{')
	label := func(name, value string) {
		b = append(append(append(b, separator), name...), `="`...)
		b = append(append(b, escapeValue.Replace(value)...), '"')
		separator = ','
	}
	for i, name := range f.labels {
		label(name, v[i])
	}
	if bound != "" {
		label("le", bound)
	}
	if separator == ',' {
		b = append(b, '}')
	}
	b = append(append(b, ' '), number(value)...)
	return append(b, '\n')
}

// number formats a value as the text format does.
func number(value float64) string {
	if math.IsInf(value, 1) {
		return "+Inf"
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}
