package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// elements counts the elements of an XML document, and fails if it is not well-formed.
func elements(t *testing.T, text string) map[string]int {
	t.Helper()
	found := map[string]int{}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if e, ok := token.(xml.StartElement); ok {
			found[e.Name.Local]++
			for _, a := range e.Attr {
				if a.Name.Local == "style" || strings.HasPrefix(a.Name.Local, "on") {
					t.Errorf("%s has the attribute %s", e.Name.Local, a.Name.Local)
				}
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
					t.Errorf("%s has %s=%q", e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

const hostile = `"><script>alert(1)</script>&amp;'` + "\u202e\x1b\x00\xff"

func TestPlotIsSafeSVG(t *testing.T) {
	p := Plot{
		ID: hostile, Title: hostile, Description: hostile, Labels: []string{hostile, "b", "c", "d", "e"}, Format: func(v float64) string { return fmt.Sprint(v, hostile) },
		Series: []Series{{hostile, []float64{1, math.NaN(), 3, 4, math.NaN()}}, {"empty", nil}, {"extreme", []float64{math.NaN(), -1, math.MaxFloat64, 0, 5}}},
	}
	got := elements(t, p.SVG())
	if got["script"] != 0 || got["title"] != 1 || got["desc"] != 1 || got["path"] != 3 || got["circle"] != 1 {
		t.Errorf("got %v", got)
	}
	p.Bars = true
	if got := elements(t, p.SVG()); got["script"] != 0 || got["rect"] != 3+2+3 {
		t.Errorf("got %v", got)
	}
	elements(t, Plot{Format: func(float64) string { return "" }}.SVG())
}

// TestFirstAndLastStepOfPlotAreLabelled has a last step, which is the newest, at any number of steps. No label is drawn twice.
func TestFirstAndLastStepOfPlotAreLabelled(t *testing.T) {
	for n := 1; n <= 40; n++ {
		labels := make([]string, n)
		for i := range labels {
			labels[i] = fmt.Sprint("step ", i)
		}
		svg := Plot{Labels: labels, Format: func(float64) string { return "" }}.SVG()
		if got := strings.Count(svg, ">step "); got != min(n, 3) || strings.Count(svg, ">step 0<") != 1 || strings.Count(svg, fmt.Sprintf(">step %d<", n-1)) != 1 {
			t.Errorf("%d steps have %d labels: %s", n, got, svg)
		}
	}
}

// TestBarsHaveContrast has the colours of the first series and of the background in both themes, as in the style of the pages.
func TestBarsHaveContrast(t *testing.T) {
	opacity := regexp.MustCompile(`fill-opacity="([^"]*)"`)
	plot := Plot{Bars: true, Labels: []string{"a"}, Series: []Series{{"x", []float64{1}}, {"y", []float64{1}}}, Format: func(float64) string { return "" }}.SVG()
	found := opacity.FindAllStringSubmatch(plot+Comparison{Rows: []Bar{{"x", 1, "1"}}}.SVG(), -1)
	if len(found) != 5 {
		t.Fatalf("%d shapes have an opacity, want the bars and the legend of two series, and one row", len(found))
	}
	for _, one := range found {
		share, err := strconv.ParseFloat(one[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, theme := range [][2][3]float64{{{0x0b, 0x53, 0x94}, {0xff, 0xff, 0xff}}, {{0x8c, 0xc4, 0xff}, {0x14, 0x18, 0x1d}}} {
			var mixed [3]float64
			for i := range mixed {
				mixed[i] = share*theme[0][i] + (1-share)*theme[1][i]
			}
			light, dark := luminance(mixed), luminance(theme[1])
			if contrast := (max(light, dark) + 0.05) / (min(light, dark) + 0.05); contrast < 3 {
				t.Errorf("with the opacity %s, %v on %v has a contrast of %.1f", one[1], theme[0], theme[1], contrast)
			}
		}
	}
}

// luminance returns the relative luminance of a colour by WCAG 2.
func luminance(colour [3]float64) float64 {
	sum := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		c := colour[i] / 255
		if c <= 0.04045 {
			c /= 12.92
		} else {
			c = math.Pow((c+0.055)/1.055, 2.4)
		}
		sum += weight * c
	}
	return sum
}

func TestTopOfPlotIsRound(t *testing.T) {
	for most, want := range map[float64]float64{0: 1, 1: 1, 1.1: 2, 3: 5, 7: 10, 99: 100, 0.03: 0.05, math.NaN(): 1, -4: 1} {
		if got := (Plot{Series: []Series{{"", []float64{most}}}}).top(); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v, want %v", most, got, want)
		}
	}
}

func TestComparisonIsSafeSVG(t *testing.T) {
	c := Comparison{ID: hostile, Title: hostile, Description: hostile, Reference: 1, Rows: []Bar{{hostile, 2, hostile}, {"b", math.NaN(), ""}, {"c", -1, "-1"}, {"d", math.MaxFloat64, ""}}}
	elements(t, Comparison{}.SVG())
	if got := elements(t, c.SVG()); got["script"] != 0 || got["rect"] != len(c.Rows) {
		t.Errorf("got %v", got)
	}
	if got := elements(t, Document(c.SVG())); got["style"] != 1 {
		t.Errorf("got %v", got)
	}
}
