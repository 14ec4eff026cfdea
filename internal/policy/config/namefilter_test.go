package config_test

import (
	"path"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

func TestFilterAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		filter config.Filter
		name   string
		want   bool
	}{
		"an unset filter allows all":                    {config.Filter{}, "a", true},
		"an empty list allows none":                     {config.Filter{Allow: []string{}}, "a", false},
		"a name matches itself":                         {config.Filter{Allow: []string{"a"}}, "a", true},
		"a name does not match a longer one":            {config.Filter{Allow: []string{"a"}}, "ab", false},
		"deny overrides allow":                          {config.Filter{Allow: []string{"*"}, Deny: []string{"a"}}, "a", false},
		"a star matches slashes":                        {config.Filter{Deny: []string{"file://*"}}, "file:///etc/x", false},
		"a star backtracks":                             {config.Filter{Allow: []string{"a*b*c"}}, "a/b/b/x/c", true},
		"a star matches the empty string":               {config.Filter{Allow: []string{"a*"}}, "a", true},
		"a question mark matches one character":         {config.Filter{Allow: []string{"a?c"}}, "aéc", true},
		"a question mark matches a slash":               {config.Filter{Allow: []string{"a?c"}}, "a/c", true},
		"a class matches its characters":                {config.Filter{Allow: []string{"[a-c]x"}}, "bx", true},
		"a negated class does not match its characters": {config.Filter{Allow: []string{"[^a-c]x"}}, "bx", false},
		"an escaped bracket does not end a class":       {config.Filter{Allow: []string{`[\]a]x`}}, "]x", true},
		"nor does it in a negated class":                {config.Filter{Allow: []string{`[^\]a]x`}}, "]x", false},
		"what follows a class is matched":               {config.Filter{Allow: []string{`[ab]`}}, "ax", false},
		"the last star backtracks":                      {config.Filter{Allow: []string{"a*bc"}}, "abbc", true},
		"an escape matches its character":               {config.Filter{Allow: []string{`\*x`}}, "*x", true},
		"an escape matches nothing else":                {config.Filter{Allow: []string{`\*x`}}, "ax", false},
		"an invalid deny denies":                        {config.Filter{Deny: []string{"["}}, "a", false},
		"an invalid allow allows nothing":               {config.Filter{Allow: []string{"["}}, "[", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.filter.Allowed(c.name); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

// FuzzFilter checks that, for names without slashes, globs match as they do in path.Match.
func FuzzFilter(f *testing.F) {
	for _, seed := range [][2]string{{"a*b?c", "axxbyc"}, {"[^a-c]*", "x"}, {`\[*`, "[x"}, {"**", ""}, {"*a*a*a*b", "aaaaaaaaaaaa"}, {`[\]-a]`, "a"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, glob, name string) {
		for _, s := range []string{glob, name} {
			if len(s) > 100 || strings.ContainsFunc(s, func(r rune) bool { return r == '/' || r >= 0x80 }) {
				return
			}
		}
		want, err := path.Match(glob, name)
		if got := (config.Filter{Allow: []string{glob}}).Allowed(name); got != (want && err == nil) {
			t.Errorf("%q, %q: got %v, want %v, %v", glob, name, got, want, err)
		}
	})
}

func TestFilterAllowedBelow(t *testing.T) {
	for name, c := range map[string]struct {
		filter config.Filter
		want   bool
	}{
		"all":                             {config.Filter{}, true},
		"nothing":                         {config.Filter{Allow: []string{}}, false},
		"a longer prefix":                 {config.Filter{Allow: []string{"n://a/*"}}, true},
		"one name":                        {config.Filter{Allow: []string{"n://a"}}, true},
		"the prefix itself":               {config.Filter{Allow: []string{"n://"}}, true},
		"a shorter prefix":                {config.Filter{Allow: []string{"n*"}}, true},
		"a suffix":                        {config.Filter{Allow: []string{"*/x"}}, true},
		"a class":                         {config.Filter{Allow: []string{"[m-o]??/x"}}, true},
		"a different prefix":              {config.Filter{Allow: []string{"m://*"}}, false},
		"a shorter name":                  {config.Filter{Allow: []string{"n:"}}, false},
		"a longer prefix with all denied": {config.Filter{Allow: []string{"n://a/*"}, Deny: []string{"n*"}}, false},
		"a part denied":                   {config.Filter{Deny: []string{"n://a/*"}}, true},
		"the prefix itself denied":        {config.Filter{Deny: []string{"n://"}}, true},
		"an escaped star denied":          {config.Filter{Deny: []string{`n://\*`}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.filter.AllowedBelow("n://"); got != c.want {
				t.Errorf("%+v: %t", c.filter, got)
			}
		})
	}
}
