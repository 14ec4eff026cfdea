package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
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
