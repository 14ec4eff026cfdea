// Package chart draws numbers: as text, with Blocks or ASCII, and as SVG for pages and documents. It knows nothing of what the numbers
// mean. Start with Glyphs, Plot and Comparison.
package chart

import (
	"slices"
	"strings"
)

// Glyphs are the characters of text charts.
type Glyphs struct {
	levels []rune // of a sparkline, from more than zero to the maximum
	parts  []rune // of the last cell of a bar, from the least to full
}

// The sets of glyphs.
var (
	Blocks = Glyphs{levels: []rune("▁▂▃▄▅▆▇█"), parts: []rune("▏▎▍▌▋▊▉█")}
	ASCII  = Glyphs{levels: []rune("_.-=+*#"), parts: []rune("#")}
)

// Sparkline draws one character for each value. Zero and less is a space.
func (g Glyphs) Sparkline(values []int64) string {
	top := int64(0)
	for _, v := range values {
		top = max(top, v)
	}
	var line strings.Builder
	for _, v := range values {
		if v <= 0 {
			line.WriteByte(' ')
			continue
		}
		line.WriteRune(g.levels[scale(v, top, len(g.levels))-1])
	}
	return line.String()
}

// Sum adds neighbours, so that at most n values remain.
func Sum(values []int64, n int) []int64 {
	size := (len(values) + n - 1) / n
	if size <= 1 {
		return values
	}
	var sums []int64
	for group := range slices.Chunk(values, size) {
		sum := int64(0)
		for _, v := range group {
			sum += v
		}
		sums = append(sums, sum)
	}
	return sums
}

// Bar draws value as a bar that has width characters for top. Any value above zero is visible.
func (g Glyphs) Bar(value, top int64, width int) string {
	if value <= 0 || top <= 0 || width <= 0 {
		return ""
	}
	n := scale(min(value, top), top, width*len(g.parts))
	full, part := n/len(g.parts), n%len(g.parts)
	bar := strings.Repeat(string(g.parts[len(g.parts)-1]), full)
	if part > 0 {
		bar += string(g.parts[part-1])
	}
	return bar
}

// scale returns value in steps of which top has n, rounded up: 1 to n.
func scale(value, top int64, n int) int {
	return min(n, max(1, int(float64(value)/float64(top)*float64(n)+0.999)))
}
