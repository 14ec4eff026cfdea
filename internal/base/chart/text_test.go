package chart

import (
	"math"
	"testing"
	"unicode/utf8"
)

func TestTextCharts(t *testing.T) {
	for got, want := range map[string]string{
		Blocks.Sparkline([]int64{0, 1, 50, 100, -1}): " ▁▄█ ",
		ASCII.Sparkline([]int64{0, 1, 50, 100}):      " _=#",
		ASCII.Sparkline([]int64{0, 0}):               "  ",
		Blocks.Bar(100, 100, 3):                      "███",
		Blocks.Bar(50, 100, 3):                       "█▌",
		Blocks.Bar(1, 1_000_000, 3) + ".":            "▏.",
		ASCII.Bar(50, 100, 4):                        "##",
		ASCII.Bar(0, 0, 4) + "-":                     "-",
		ASCII.Bar(200, 100, 2):                       "##",
		Blocks.Sparkline(nil) + "+":                  "+",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	for _, v := range []int64{1, math.MaxInt64, math.MinInt64} {
		if n := utf8.RuneCountInString(Blocks.Bar(v, math.MaxInt64, 8) + Blocks.Sparkline([]int64{v, math.MaxInt64})); n > 10 {
			t.Errorf("%d has %d characters", v, n)
		}
	}
}
