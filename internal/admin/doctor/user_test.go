package doctor

import "testing"

func TestExamineWarnsOfRoot(t *testing.T) {
	for id, want := range map[int]int{0: 1, 1000: 0, -1: 0} {
		e := &examination{}
		e.user(id)
		if len(e.checks) != want || want > 0 && (e.checks[0].Outcome != CheckWarning || e.checks[0].Remedy == "") {
			t.Errorf("user %d: got %+v, want %d warnings", id, e.checks, want)
		}
	}
}
