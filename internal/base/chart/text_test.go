package chart

import (
	"math"
	"slices"
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

func TestSum(t *testing.T) {
	values := []int64{1, 2, 3, 4, 5}
	for n, want := range map[int][]int64{1: {15}, 2: {6, 9}, 3: {3, 7, 5}, 4: {3, 7, 5}, 5: values, 9: values} {
		if got := Sum(values, n); !slices.Equal(got, want) {
			t.Errorf("%d: got %v, want %v", n, got, want)
		}
	}
	if got := Sum(nil, 3); len(got) != 0 {
		t.Error(got)
	}
}
