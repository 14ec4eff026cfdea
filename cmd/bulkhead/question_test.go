package main

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
)

func TestApproverAsksOnTerminalOnly(t *testing.T) {
	text := strings.Repeat("    | line\n", 1000) // longer than the questions of plugins are shown
	for typed, want := range map[string]host.Decision{"y\n": host.Approved, "YES\n": host.Approved, "n\n": host.Declined, "\n": host.Declined, "yeah\n": host.Declined,
		"!\n": host.Declined, "": host.Cancelled, "y": host.Cancelled} {
		var shown strings.Builder
		q := &questions{stdin: strings.NewReader(typed), terminal: true, to: &shown, before: func() {}}
		got, err := q.approver()(t.Context(), text+"\x1b[2J \"\u2068א\u2069\"")
		if err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", typed, got, err, want)
		}
		if !strings.Contains(shown.String(), text+"·[2J \"א\"\n") {
			t.Errorf("the text is not shown completely: %.200s", shown.String())
		}
	}
	if q := (&questions{stdin: strings.NewReader("y\n")}); q.approver() != nil {
		t.Error("a question can be answered without a terminal")
	}
}
