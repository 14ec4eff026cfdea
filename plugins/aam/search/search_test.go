package search_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/search"
)

func itself(p search.Package) search.Package { return p }

func TestScore(t *testing.T) {
	review := search.Package{Name: "@acme/code-review", Description: "Walks through a Checklist", Keywords: []string{"Audit", "quality"}}
	tests := []struct {
		name, query string
		want        int
	}{
		{"an empty query matches every package", "", 100},
		{"the name itself, in any case", "@ACME/code-review", 100},
		{"a prefix of the name, including the scope", "@acme", 80},
		{"a part of the name", "code-review", 60},
		{"a whole keyword, in any case", "audit", 50},
		{"a part of a keyword does not match", "aud", 0},
		{"a part of the description, in any case", "a checklist", 30},
		{"words are not searched separately", "checklist walks", 0},
		{"blanks count", " code", 0},
		{"special characters are literal", ".*", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := search.NewQuery(test.query).Score(review); got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

func TestRank(t *testing.T) {
	packages := []search.Package{
		{Name: "z-report"}, {Name: "other", Description: "first report"}, {Name: "report"}, {Name: "a-report"},
		{Name: "other", Description: "second report"}, {Name: "reports"}, {Name: "none"},
	}
	var got []string
	for _, p := range search.Rank(search.NewQuery("report"), packages, itself) {
		got = append(got, p.Name+p.Description)
	}
	want := []string{"report", "reports", "a-report", "z-report", "otherfirst report", "othersecond report"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("by score, then by name, then as given (-want +got)\n%s", diff)
	}
}

// BenchmarkRank measures the time per package, which must not depend on the number of packages.
func BenchmarkRank(b *testing.B) {
	for _, size := range []int{100, 1000, 10000} {
		packages := make([]search.Package, size)
		for i := range packages {
			packages[i] = search.Package{Name: fmt.Sprintf("package-%05d", i*7919%size), Description: "Writes reports of many kinds", Keywords: []string{"report", "audit"}}
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			for b.Loop() {
				search.Rank(search.NewQuery("reports"), packages, itself)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/package")
		})
	}
}
