package glob_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/sdk/glob"
)

func TestExpand(t *testing.T) {
	escape := glob.Options{Escape: true}
	for name, c := range map[string]struct {
		pattern string
		o       glob.Options
		want    string
	}{
		"alternatives":     {"a{b,c{d,e}}f", glob.Options{}, "abf acdf acef"},
		"a range":          {"x{3..1}", glob.Options{}, "x3 x2 x1"},
		"a padded range":   {"{-01..1}", glob.Options{}, "-01 000 001"},
		"steps":            {"{a..f..2}{1..7..-3}", glob.Options{}, "a1 a4 a7 c1 c4 c7 e1 e4 e7"},
		"no alternatives":  {"{a}{b", glob.Options{}, "{a}{b"},
		"escaped braces":   {`\{a,b}{c,d\,e}`, escape, `\{a,b}c \{a,b}d\,e`},
		"a dollar sign":    {"${a,b}{c,d}", escape, "${a,b}c ${a,b}d"},
		"without escaping": {`\{a,b}`, glob.Options{}, `\a \b`},
	} {
		if got, ok := glob.Expand(c.pattern, c.o); !ok || strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, %t", name, got, ok)
		}
	}
	for _, pattern := range []string{strings.Repeat("{a,b}", 11), "{1..2000}", "{1.." + strings.Repeat("0", 40<<10) + "2}"} {
		if _, ok := glob.Expand(pattern, glob.Options{}); ok {
			t.Errorf("%.30s was expanded", pattern)
		}
	}
}

func TestNameMatch(t *testing.T) {
	names := []string{".a", "a", "a]", "ab", "b", "*"}
	for name, c := range map[string]struct {
		pattern string
		o       glob.Options
		want    []string
	}{
		"hidden names":             {"*", glob.Options{}, []string{"a", "a]", "ab", "b", "*"}},
		"hidden names with Hidden": {"*", glob.Options{Hidden: true}, names},
		"an escaped wildcard":      {`\*`, glob.Options{Escape: true}, []string{"*"}},
		"an escaped bracket":       {`a[x\]]`, glob.Options{Escape: true}, []string{"a]"}},
		"a named class":            {"[[:alpha:]]", glob.Options{Escape: true}, []string{"a", "b"}},
		"a negated group":          {"!(a)", glob.Options{}, []string{"a]", "ab", "b", "*"}},
	} {
		p, steps := glob.ParseName(c.pattern, c.o), 1000
		var got []string
		for _, name := range names {
			if p.Match(name, &steps) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	steps := 1
	if glob.ParseName("a", glob.Options{}).Match("a", &steps) {
		t.Error("a name matched without steps")
	}
}
