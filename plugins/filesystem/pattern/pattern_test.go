package pattern_test

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/filesystem/pattern"
)

// differences are patterns with which minimatch is at odds with its own rules: it takes the backslash of *\a for a character, an open bracket
// for the end of a group, and a negated group followed by ** for one that ends the name.
var differences = []string{`*(a)[!(a)`, `**\a`, `*\a`, `+(a|b)!(*.js)**`, `[*(a)`, `a{},b}c`}

// TestMatchAgreesWithMinimatch compares Match with minimatch 10.2.6, option dot: true.
func TestMatchAgreesWithMinimatch(t *testing.T) {
	raw, err := os.ReadFile("testdata/minimatch.json")
	if err != nil {
		t.Fatal(err)
	}
	var recorded struct {
		Paths    []string
		Patterns map[string][]int // indexes of the paths that match
	}
	if err := json.Unmarshal(raw, &recorded); err != nil || len(recorded.Patterns) < 1000 {
		t.Fatalf("%d patterns, %v", len(recorded.Patterns), err)
	}
	for _, text := range slices.Sorted(maps.Keys(recorded.Patterns)) {
		p := pattern.Parse(text)
		var got, want []string
		for i, path := range recorded.Paths {
			if p.Match(path) {
				got = append(got, path)
			}
			if slices.Contains(recorded.Patterns[text], i) {
				want = append(want, path)
			}
		}
		if same := slices.Equal(got, want); same == slices.Contains(differences, text) {
			t.Errorf("%q (agrees: %t)\n  got  %q\n  want %q", text, same, strings.Join(got, " "), strings.Join(want, " "))
		}
	}
}

func TestCostlyPatternsMatchNothing(t *testing.T) {
	for name, text := range map[string]string{
		"many alternatives": strings.Repeat("{a,b}", 12), "a long pattern": strings.Repeat("a", 64<<10+1), "long alternatives": "{" + strings.Repeat("a", 40<<10) + ",b}",
	} {
		if p := pattern.Parse(text); !p.TooCostly() || p.Match("a") {
			t.Errorf("%s: the pattern was accepted", name)
		}
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("**/*.{js,ts}", "a/b.js")
	f.Add("!(a|b)[[:alpha:]]{1..3}", "x/y")
	f.Fuzz(func(t *testing.T, text, path string) {
		p := pattern.Parse(text)
		if got := p.Match(path); got && p.TooCostly() {
			t.Error("a pattern that exceeds a bound matches")
		}
	})
}
