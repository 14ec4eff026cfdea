package config

import "testing"

func TestWhatMayBeAllowedBelowAPrefix(t *testing.T) {
	for name, c := range map[string]struct {
		filter Filter
		want   bool
	}{
		"all":                                 {Filter{}, true},
		"nothing":                             {Filter{Allow: []string{}}, false},
		"a part":                              {Filter{Allow: []string{"n://a/*"}}, true},
		"one":                                 {Filter{Allow: []string{"n://a"}}, true},
		"the prefix itself":                   {Filter{Allow: []string{"n://"}}, true},
		"a wider part":                        {Filter{Allow: []string{"n*"}}, true},
		"any that end so":                     {Filter{Allow: []string{"*/x"}}, true},
		"characters of some":                  {Filter{Allow: []string{"[m-o]??/x"}}, true},
		"another part":                        {Filter{Allow: []string{"m://*"}}, false},
		"what is shorter":                     {Filter{Allow: []string{"n:"}}, false},
		"a part, where all is denied":         {Filter{Allow: []string{"n://a/*"}, Deny: []string{"n*"}}, false},
		"what is left of what is denied":      {Filter{Deny: []string{"n://a/*"}}, true},
		"all but the prefix itself":           {Filter{Deny: []string{"n://"}}, true},
		"what does not end in a star that is": {Filter{Deny: []string{`n://\*`}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.filter.AllowedBelow("n://"); got != c.want {
				t.Errorf("%+v: %t", c.filter, got)
			}
		})
	}
}
