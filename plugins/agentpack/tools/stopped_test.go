package tools_test

import "testing"

// TestACallThatWasStopped: readers warn of what is left of it, and the next call that writes ends it.
func TestACallThatWasStopped(t *testing.T) {
	const journal = "home/.agentpack/state/journal/staging.json"
	const left = `{"version":1,"id":"0123456789abcdef","folders":[],"steps":[]}`
	for _, ends := range []string{"deploy", "doctor"} {
		t.Run(ends, func(t *testing.T) {
			files := base()
			files[journal] = left
			w := newWorld(t, files)
			for _, reads := range []string{"plan", "status"} {
				warned(t, w.OK(reads, ``, nil), "was stopped while it wrote")
			}
			if w.Read(journal) != left {
				t.Error("a reader has changed the journal")
			}
			warned(t, w.OK(ends, ``, nil), "was stopped while it wrote")
			if got := w.OK("plan", ``, nil); w.Read(journal) != "(none)" || len(got.Warnings) > 0 {
				t.Errorf("the journal is still there, or warned of: %q", got.Warnings)
			}
		})
	}
	t.Run("a journal that nobody can read", func(t *testing.T) {
		files := base()
		files[journal] = "{"
		w := newWorld(t, files)
		w.OK("plan", ``, nil)
		warned(t, w.OK("doctor", ``, nil), "cannot be ended")
		w.Fails("deploy", ``, "E_UNEXPECTED")
		if w.Read(journal) != "{" {
			t.Error("it was thrown away")
		}
	})
}
