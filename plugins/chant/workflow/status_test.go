package workflow_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/chant/workflow"
)

func TestStatus(t *testing.T) {
	p := newProject(t, mixed())
	t.Run("ready counts as pending, paused as in progress", func(t *testing.T) {
		got, err := p.Status(false)
		want := workflow.Summary{Total: 9, Pending: 2, InProgress: 2, Completed: 1, Failed: 1, Blocked: 1, Cancelled: 1, NeedsAttention: 1}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
	})
	t.Run("brief", func(t *testing.T) {
		for want, summary := range map[string]workflow.Summary{
			"3 pending | 2 in_progress | 15 completed":               {Total: 20, Pending: 3, InProgress: 2, Completed: 15},
			"1 failed | 2 blocked | 3 cancelled | 4 needs_attention": {Failed: 1, Blocked: 2, Cancelled: 3, NeedsAttention: 4},
			"No specs": {},
		} {
			if got := summary.Brief(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	})
	t.Run("activity of specs in progress, in local time", func(t *testing.T) {
		written := time.Date(2026, 3, 1, 23, 15, 0, 0, time.UTC)
		at := filepath.Join(p.Dir.Root, ".chant/specs/2026-03-01-004-ddd.md")
		if err := os.Chtimes(at, written, written); err != nil {
			t.Fatal(err)
		}
		want := []workflow.Activity{{ID: "2026-03-01-004-ddd", Title: new("Trim logs"), SpecModified: new("2026-03-02 09:15:00")}}
		got, err := p.Status(true)
		if diff := cmp.Diff(want, got.Activity); diff != "" || err != nil {
			t.Errorf("%v (-want +got)\n%s", err, diff)
		}
		put(t, p, "logs/2026-03-01-004-ddd.log", "x")
		log := p.Dir.Log("2026-03-01-004-ddd")
		if err := os.Chtimes(log, written, written.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		want[0].LogModified, want[0].HasLog = new("2026-03-02 10:15:00"), true
		got, err = p.Status(true)
		if diff := cmp.Diff(want, got.Activity); diff != "" || err != nil {
			t.Errorf("with a log: %v (-want +got)\n%s", err, diff)
		}
	})
}
