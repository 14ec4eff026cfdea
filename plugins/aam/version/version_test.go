package version_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/version"
)

func TestParse(t *testing.T) {
	tests := []struct{ text, want string }{ // want is the expected normal form; "" if an error is expected
		{"1", "1"}, {"1.0", "1.0"}, {"01.2.3", "1.2.3"}, {"v1.0.0", "1.0.0"}, {" 1.0.0 ", "1.0.0"}, {"1!1.0.0", "1!1.0.0"},
		{"1.0.0-beta.1", "1.0.0b1"}, {"1.0.0-alpha", "1.0.0a0"}, {"1.0.0-RC.2", "1.0.0rc2"}, {"1.0.0-preview.3", "1.0.0rc3"},
		{"1.0.0-1", "1.0.0.post1"}, {"1.0.0.rev2", "1.0.0.post2"}, {"1.0.0.dev1", "1.0.0.dev1"}, {"1.0.0+build.05", "1.0.0+build.5"},
		{"1.0a1.post2.dev3+x", "1.0a1.post2.dev3+x"}, {"99999999999999999999.1", "99999999999999999999.1"},
		{"1.0.0-SNAPSHOT", ""}, {"1.0.0-alpha.beta", ""}, {"latest", ""}, {"1.x", ""}, {"", ""}, {"1..0", ""}, {"-1", ""}, {"1.0/../2", ""},
		{strings.Repeat("1", 257), ""},
	}
	for _, test := range tests {
		v, err := version.Parse(test.text)
		if test.want == "" {
			if err == nil {
				t.Errorf("%q: got %s, want an error", test.text, v)
			}
		} else if err != nil || v.String() != test.want {
			t.Errorf("%q: got %s, %v, want %s", test.text, v, err, test.want)
		}
	}
}

// TestCompare compares each pair of versions in a sorted list, in which = joins equal versions.
func TestCompare(t *testing.T) {
	list := strings.Fields(`1.0.dev1 1.0a1.dev1 1.0a1 1.0a1.post1 1.0b1 1.0b2 1.0b10 1.0rc1 1=1.0=1.0.0 1.0+a 1.0+a.b 1.0+1 1.0+1.a 1.0+1.1
		1.0.post1.dev1 1.0.post1=1.0-1 1.0.1.dev1 1.0.1 1.9 1.10 99999999999999999998 99999999999999999999 1!0.1`)
	type item struct {
		text string
		rank int
	}
	var items []item
	for rank, group := range list {
		for text := range strings.SplitSeq(group, "=") {
			items = append(items, item{text, rank})
		}
	}
	for _, a := range items {
		for _, b := range items {
			x, err := version.Parse(a.text)
			if err != nil {
				t.Fatal(err)
			}
			y, err := version.Parse(b.text)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := version.Compare(x, y), min(1, max(-1, a.rank-b.rank)); got != want {
				t.Errorf("%s and %s: got %d, want %d", a.text, b.text, got, want)
			}
		}
	}
}

func TestBest(t *testing.T) {
	tests := []struct {
		name, constraint, available, want string
	}{
		{"a caret on a minor", "^0.2.3", "0.2.3 0.2.9 0.3.0", "0.2.9"},
		{"a caret on a patch", "^0.0.3", "0.0.3 0.0.4", "0.0.3"},
		{"a tilde", "~1.2.3", "1.2.3 1.2.9 1.3.0", "1.2.9"},
		{"numeric comparison", "*", "1.10.0 1.9.0 1.2.0", "1.10.0"},
		{"no match", ">=1.0.0", "0.9.0", ""},
		{"no versions", "*", "", ""},
		{"a pre-release of the next major is allowed", "^1.0.0", "1.0.0 1.9.9 2.0.0-alpha.1 2.0.0", "2.0.0-alpha.1"},
		{"a post release is higher and not normalized", "*", "1.0.0 1.0.0-1", "1.0.0-1"},
		{"invalid versions are skipped", "^1.0.0", "bad 1.0 1.2", "1.2"},
		{"several bounds", ">=1.0.0, <1.5.0,", "1.0.0 1.4.9 1.5.0", "1.4.9"},
		{"exactly", "1.0", "1.0.0+x 1.0.0 1.0.1", "1.0.0"},
		{"above a nine", "^9.0.0", "9.99.0 10.0.0", "9.99.0"},
		{"the first of equal versions", "*", "1.0 1.0.0", "1.0"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := version.ParseConstraint(test.constraint)
			if err != nil {
				t.Fatal(err)
			}
			got, ok := version.Best(c, strings.Fields(test.available))
			if got != test.want || ok != (test.want != "") {
				t.Errorf("got %q, %t, want %q", got, ok, test.want)
			}
		})
	}
}

func TestParseConstraintRefuses(t *testing.T) {
	for _, text := range []string{
		"^1.0.0,<1.5.0", ">=1.0.0 <2.0.0", "^1.0", "~=1.0.0", "latest", "", ",", "^v1.2.3", "^ 1.0.0", "!=1.0.0", "1.0.0 || 2.0.0", "1.x", ">=", "*,>=1", "=>1.0.0", "<>1",
		strings.Repeat("1,", 33), strings.Repeat(" ", 300) + "1",
	} {
		if c, err := version.ParseConstraint(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, c)
		}
	}
	if !(version.Constraint{}).Allows(version.Version{}) || (version.Constraint{}).String() != "*" {
		t.Error("no constraint does not allow all")
	}
}

func TestRecordedVersions(t *testing.T) {
	var rows []struct {
		Input string
		OK    *string
	}
	realdata.Recorded(t, "versions.json", &rows)
	for _, row := range rows {
		v, err := version.Parse(row.Input)
		if (err == nil) != (row.OK != nil) || err == nil && v.String() != *row.OK {
			t.Errorf("%q: got %s, %v", row.Input, v, err)
		}
	}
}

// TestRecordedConstraints checks versions at the bounds of each recorded constraint, and versions next to these bounds.
func TestRecordedConstraints(t *testing.T) {
	type bound struct {
		Lower          *string
		LowerInclusive bool `json:"lower_inclusive"`
		Upper          *string
		UpperInclusive bool `json:"upper_inclusive"`
	}
	var rows []struct {
		Input string
		OK    *[]bound
	}
	realdata.Recorded(t, "constraints.json", &rows)
	for _, row := range rows {
		c, err := version.ParseConstraint(row.Input)
		if (err == nil) != (row.OK != nil) {
			t.Errorf("%q: got %v, want an error: %t", row.Input, err, row.OK == nil)
		}
		if err != nil || row.OK == nil {
			continue
		}
		probes := []string{"0", "99"}
		for _, b := range *row.OK {
			for _, end := range []*string{b.Lower, b.Upper} {
				if end != nil { // check the version just below the bound, the bound itself, and the version just above
					probes = append(probes, *end, *end+"+0", *end+".post1")
					if !strings.ContainsAny(*end, "abr") {
						probes = append(probes, *end+".dev0", *end+"rc9")
					}
				}
			}
		}
		for _, probe := range probes {
			v, err := version.Parse(probe)
			if err != nil {
				t.Fatal(err)
			}
			want := !slices.ContainsFunc(*row.OK, func(b bound) bool {
				return b.Lower != nil && (order(t, v, *b.Lower) < 0 || order(t, v, *b.Lower) == 0 && !b.LowerInclusive) ||
					b.Upper != nil && (order(t, v, *b.Upper) > 0 || order(t, v, *b.Upper) == 0 && !b.UpperInclusive)
			})
			if got := c.Allows(v); got != want {
				t.Errorf("%q allows %s: got %t, want %t", row.Input, probe, got, want)
			}
		}
	}
}

func order(t *testing.T, v version.Version, text string) int {
	t.Helper()
	other, err := version.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return version.Compare(v, other)
}

func TestRecordedMatches(t *testing.T) {
	var rows []struct {
		Constraint string
		Available  []string
		OK         *string
	}
	realdata.Recorded(t, "best-match.json", &rows)
	for _, row := range rows {
		c, err := version.ParseConstraint(row.Constraint)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := version.Best(c, row.Available)
		if ok {
			v, err := version.Parse(got) // the recorded program returns the normal form of the version
			if err != nil {
				t.Fatal(err)
			}
			got = v.String()
		}
		if ok != (row.OK != nil) || ok && got != *row.OK {
			t.Errorf("%s of %v: got %q, %t, want %v", row.Constraint, row.Available, got, ok, row.OK)
		}
	}
}

// FuzzParse checks that the normal form parses to the same version, and that Compare is antisymmetric.
func FuzzParse(f *testing.F) {
	f.Add("1.0.0-beta.1", "1!2")
	f.Add(" V1.0_rc-2.post.dev+A_b ", "1.0.0-1")
	f.Add("1.", "")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, err := version.Parse(a)
		if err != nil {
			return
		}
		again, err := version.Parse(x.String())
		if err != nil || again.String() != x.String() || version.Compare(x, again) != 0 {
			t.Fatalf("%q: %s reads as %s, %v", a, x, again, err)
		}
		if y, err := version.Parse(b); err == nil && version.Compare(x, y) != -version.Compare(y, x) {
			t.Fatalf("%q and %q have no order", a, b)
		}
	})
}

// FuzzParseConstraint checks that a constraint without < and > allows the version that it contains.
func FuzzParseConstraint(f *testing.F) {
	for _, seed := range []string{"^1.2.3", "~0.0.1", ">=1,<2", "*", "= 1.0", "^9.9.9-rc.1", ">1", ","} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := version.ParseConstraint(text)
		if err != nil || strings.ContainsAny(text, "<>,*") {
			return
		}
		v, err := version.Parse(strings.TrimLeft(strings.TrimSpace(text), "^~="))
		if err != nil || !c.Allows(v) {
			t.Fatalf("%q does not allow %s, %v", text, v, err)
		}
	})
}
