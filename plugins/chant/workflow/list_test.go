package workflow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

// mixed returns files of specs with every status except blocked, which the board computes.
func mixed() files {
	return files{
		"specs/2026-03-01-001-aaa.md": spec("completed", "# Store keys\n\nIn the vault."),
		"specs/2026-03-01-002-bbb.md": spec("pending", "# Rotate keys\n\nUse JWT tokens.", "depends_on:", "- 2026-03-01-001-aaa", "labels: [sec]"),
		"specs/2026-03-01-003-ccc.md": spec("pending", "# Audit", "depends_on:", "- 2026-03-01-004-ddd"),
		"specs/2026-03-01-004-ddd.md": spec("in_progress", "# Trim logs"),
		"specs/2026-03-01-005-eee.md": spec("cancelled", "# Drop it"),
		"specs/2026-03-01-006-fff.md": spec("paused", "# Wait"),
		"specs/2026-03-01-007-ggg.md": spec("ready", "no heading"),
		"specs/2026-03-01-008-hhh.md": spec("failed", "# Break"),
		"specs/2026-03-01-009-iii.md": spec("needs_attention", "# Look"),
		"archive/2026-02-01/x.md":     spec("completed", "# Old"),
	}
}

func suffixes(rows []workflow.Row) string {
	var all []string
	for _, row := range rows {
		all = append(all, row.ID[strings.LastIndex(row.ID, "-")+1:])
	}
	return strings.Join(all, " ")
}

func TestList(t *testing.T) {
	p := newProject(t, mixed())
	tests := []struct {
		name   string
		status *string
		limit  uint64
		want   string
		total  int
	}{
		{"all active specs, also cancelled ones", nil, 50, "aaa bbb ccc ddd eee fff ggg hhh iii", 9},
		{"a limit of 0 returns the total", nil, 0, "", 9},
		{"a limit returns the first specs", nil, 2, "aaa bbb", 9},
		{"the largest limit", nil, 1<<64 - 1, "aaa bbb ccc ddd eee fff ggg hhh iii", 9},
		{"pending excludes blocked specs", new("pending"), 50, "bbb", 1},
		{"blocked is computed", new("blocked"), 50, "ccc", 1},
		{"ready is computed, not stored", new("ready"), 50, "bbb", 1},
		{"in_progress excludes paused specs", new("in_progress"), 50, "ddd", 1},
		{"any other status", new("paused"), 50, "fff", 1},
		{"an unknown status filters nothing", new("bogus"), 3, "aaa bbb ccc", 9},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			page, err := p.List(test.status, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			if got := suffixes(page.Specs); got != test.want || page.Total != test.total || page.Limit != test.limit || page.Returned != len(page.Specs) {
				t.Errorf("got %s, %+v\nwant %s, total %d", got, page, test.want, test.total)
			}
		})
	}
	t.Run("ready specs", func(t *testing.T) {
		page, err := p.Ready(50)
		want := workflow.Page{Specs: []workflow.Row{{
			Hit:       workflow.Hit{ID: "2026-03-01-002-bbb", Title: new("Rotate keys"), Status: "pending", Type: "code"},
			DependsOn: []string{"2026-03-01-001-aaa"}, Labels: []string{"sec"},
		}}, Total: 1, Limit: 50, Returned: 1}
		if diff := cmp.Diff(want, page); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
}

func TestSearch(t *testing.T) {
	p := newProject(t, mixed())
	for _, test := range []struct {
		name   string
		query  string
		status *string
		want   int
	}{
		{"case is ignored", "jwt TOKENS", nil, 1},
		{"ids are not searched", "2026-03-01-002-bbb", nil, 0},
		{"an unknown status filters nothing", "", new("bogus"), 9},
		{"titles are searched", "keys", nil, 2},
		{"with a status", "keys", new("completed"), 1},
		{"with ready", "keys", new("ready"), 1},
		{"the query is not a regular expression", "k.ys", nil, 0},
		{"an empty query matches all", "", nil, 9},
		{"labels are not searched", "sec", nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			hits, err := p.Search(test.query, test.status)
			if err != nil || len(hits) != test.want || hits == nil {
				t.Errorf("got %v, %v, want %d", hits, err, test.want)
			}
		})
	}
}

// TestSearchFoldsCase checks that Search converts the query and the body to lower case as a whole, so that a sigma at
// the end of the query becomes a final sigma.
func TestSearchFoldsCase(t *testing.T) {
	p := newProject(t, files{
		"specs/a.md": spec("pending", "# İSTANBUL"),
		"specs/b.md": spec("pending", "# ΟΔΟΣ ΚΑΙ\n\nΟΔΟΣΤΡΩΜΑ"),
		"specs/c.md": spec("pending", "# Ο\n\nΟΔΟΣΤΡΩΜΑ"),
	})
	for query, want := range map[string]string{
		"İstanbul": "a", "i\u0307stanbul": "a", "istanbul": "", "stanbul": "a", "ΟΔΟΣ": "b", "οδος": "b", "οδοσ": "b c", "ΟΔΟΣΤ": "b c",
	} {
		hits, err := p.Search(query, nil)
		var ids []string
		for _, hit := range hits {
			ids = append(ids, hit.ID)
		}
		if got := strings.Join(ids, " "); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", query, got, err, want)
		}
	}
}
