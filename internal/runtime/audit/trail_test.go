//go:build unix

package audit_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

func TestTrailCountsEqualOperations(t *testing.T) {
	var trail audit.Trail
	open := audit.Operation{Op: "fs/open", Target: "/p/a", Outcome: audit.OK}
	refused := audit.Operation{Op: "fs/open", Target: "/p/a", Outcome: audit.Denied}
	var first []bool
	for _, o := range []audit.Operation{open, refused, open, refused, open} {
		first = append(first, trail.Add(o))
	}
	if diff := cmp.Diff([]bool{true, true, false, false, false}, first); diff != "" {
		t.Error(diff)
	}
	open.Count, refused.Count = 3, 2
	all, leftOut := trail.Operations()
	if diff := cmp.Diff([]audit.Operation{open, refused}, all); diff != "" || leftOut != 0 {
		t.Errorf("%d operations are left out, and the operations differ (-want +got)\n%s", leftOut, diff)
	}
}

func TestTrailKeepsDeniedAndAllowedOperationsSeparately(t *testing.T) {
	for name, order := range map[string][2]audit.Outcome{
		"allowed operations first": {audit.OK, audit.Denied},
		"denied operations first":  {audit.Denied, audit.OK},
	} {
		t.Run(name, func(t *testing.T) {
			var trail audit.Trail
			firsts := 0
			for i := range 1000 {
				if trail.Add(audit.Operation{Op: "fs/open", Target: strconv.Itoa(i), Outcome: order[0]}) {
					firsts++
				}
			}
			if !trail.Add(audit.Operation{Op: "http/fetch", Target: "https://example.com", Outcome: order[1]}) {
				t.Error("the operation with the other outcome is not kept")
			}
			all, leftOut := trail.Operations()
			if firsts != audit.MaxDistinct || len(all) != firsts+1 || leftOut != int64(1000-firsts) {
				t.Errorf("%d were reported as new, %d are kept and %d left out", firsts, len(all), leftOut)
			}
		})
	}
}

func TestTrailTruncatesLongStrings(t *testing.T) {
	var trail audit.Trail
	long := strings.Repeat("x", 1<<20)
	trail.Add(audit.Operation{Op: long, Target: long, Code: long, Outcome: audit.Failed})
	if all, _ := trail.Operations(); len(all[0].Op)+len(all[0].Target)+len(all[0].Code) > 2<<10 {
		t.Errorf("%d, %d and %d bytes are kept", len(all[0].Op), len(all[0].Target), len(all[0].Code))
	}
}

func TestNilTrailDiscardsOperations(t *testing.T) {
	var trail *audit.Trail
	if trail.Add(audit.Operation{Op: "fs/open"}) {
		t.Error("an operation is kept")
	}
	if all, leftOut := trail.Operations(); all != nil || leftOut != 0 {
		t.Errorf("got %v and %d", all, leftOut)
	}
}
