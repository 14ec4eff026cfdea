package pages

import (
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/doctor"
)

func TestVerdictCountsFailuresAndWarnings(t *testing.T) {
	const ok, warned, failed = doctor.CheckOK, doctor.CheckWarning, doctor.CheckFailed
	for want, outcomes := range map[string][]string{
		"No check failed; no warnings.": {ok, ok}, "No check failed; 2 warnings.": {warned, ok, warned}, "1 check failed; 1 warning.": {failed, warned}, "2 checks failed; no warnings.": {failed, failed},
	} {
		var checks []doctor.Check
		for _, outcome := range outcomes {
			checks = append(checks, doctor.Check{Outcome: outcome})
		}
		if got := verdict(checks); got != want {
			t.Errorf("%v: got %q", outcomes, got)
		}
	}
}
