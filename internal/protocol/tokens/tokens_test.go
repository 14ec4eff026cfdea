package tokens

import (
	"encoding/json"
	"testing"
)

func TestEstimate(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "a": 1, "the word": 2, "internationally": 2, "12345": 2, `":{"`: 1, `":{"a"`: 3, "a  b": 3, "a\n\nb": 3, "é": 1, "日本語": 3, "\xff": 1, "a\tb": 2,
	} {
		if got := Estimate(text); got != want {
			t.Errorf("%q: got %d, want %d", text, got, want)
		}
	}
}

func TestListNamesLargest(t *testing.T) {
	var l List
	if got := l.String(); got != "no tools are in the list" {
		t.Error(got)
	}
	l.Add("a", "does it", json.RawMessage(`{}`))
	second := l.Add("b", "does it, and more than that", json.RawMessage(`{"type":"object"}`))
	if l.Tools != 2 || l.Largest != "b" || l.LargestTokens != second.Tokens || l.Bytes <= second.Bytes || l.Tokens <= second.Tokens {
		t.Errorf("got %+v after %+v", l, second)
	}
}

func FuzzEstimate(f *testing.F) {
	f.Add("a b", "\n日")
	f.Fuzz(func(t *testing.T, a, b string) {
		if got, most := Estimate(a+b), Estimate(a)+Estimate(b); got > len(a+b) || got > most+1 {
			t.Errorf("%q and %q: %d, but %d apart", a, b, got, most)
		}
	})
}
