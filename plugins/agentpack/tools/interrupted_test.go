package tools_test

import (
	"strings"
	"testing"
)

// TestInterruptedCall checks that a tool that only reads warns about an interrupted call, and that the next call that
// writes recovers.
func TestInterruptedCall(t *testing.T) {
	const journal = "home/.agentpack/state/journal/staging.json"
	const left = `{"version":1,"id":"0123456789abcdef","folders":[],"steps":[]}`
	for _, ends := range []string{"deploy", "doctor"} {
		t.Run(ends, func(t *testing.T) {
			files := base()
			files[journal] = left
			w := newWorld(t, files)
			for _, reads := range []string{"plan", "status"} {
				warned(t, w.OK(reads, ``, nil), "was interrupted while it wrote")
			}
			if w.Read(journal) != left {
				t.Error("a tool that only reads has changed the journal")
			}
			warned(t, w.OK(ends, ``, nil), "was interrupted while it wrote")
			if got := w.OK("plan", ``, nil); w.Read(journal) != "(none)" || len(got.Warnings) > 0 {
				t.Errorf("the journal still exists, or there is a warning about it: %q", got.Warnings)
			}
		})
	}
	t.Run("a call that fails also reports the recovery", func(t *testing.T) {
		w := newWorld(t, map[string]string{journal: left})
		result, err := w.Host.CallTool("deploy", ``)
		if err != nil || !result.IsError || !strings.Contains(result.Text(), "was interrupted while it wrote") || !strings.Contains(result.Text(), "E_CONFIG_MISSING") {
			t.Errorf("got %+v, %v", result, err)
		}
	})
	t.Run("an unreadable journal", func(t *testing.T) {
		files := base()
		files[journal] = "{"
		w := newWorld(t, files)
		w.OK("plan", ``, nil)
		warned(t, w.OK("doctor", ``, nil), "cannot be recovered")
		w.Fails("deploy", ``, "E_UNEXPECTED")
		if w.Read(journal) != "{" {
			t.Error("the unreadable journal was removed")
		}
	})
}
