package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/progress"
)

func TestNotificationsAreLinesWithoutRepetitions(t *testing.T) {
	var out strings.Builder
	n := notifications{tasks: progress.New(&out, nil)}
	for i := range 3 {
		n.add("notifications/progress", json.RawMessage(fmt.Sprintf(`{"progress":0.00000%d,"message":"compiling"}`, i+1)))
	}
	n.add("notifications/progress", json.RawMessage(`{"progress":1,"total":2,"message":"one\u001b[2J"}`))
	n.add("notifications/message", json.RawMessage(`{"level":"info","data":"text"}`))
	n.add("notifications/progress", json.RawMessage(`{"progress":2,"total":2,"message":"two\nbulkhead: forged"}`))
	n.end()
	if want := "compiling\n1 of 2 one·[2J\ninfo: \"text\"\n2 of 2 two bulkhead: forged\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestNotificationsOnTerminalLeaveOnlyLogLines(t *testing.T) {
	var out strings.Builder
	n := notifications{tasks: progress.New(&out, func() (int, int) { return 70, 24 })}
	n.add("notifications/progress", json.RawMessage(`{"progress":1,"total":2,"message":"one\u001b[2J"}`))
	n.add("notifications/message", json.RawMessage(`{"level":"info","data":"text"}`))
	n.add("notifications/progress", json.RawMessage(`{"progress":3,"total":1e-300}`))
	n.end()
	n.end()
	for _, want := range []string{"[==========>         ]  50% one·[2J\n", "\x1b[1A\r\x1b[Jinfo: \"text\"\n", "[====================] 100%\n\x1b[1A\r\x1b[J"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output %q does not contain %q", out.String(), want)
		}
	}
	if !strings.HasSuffix(out.String(), "\x1b[J") {
		t.Errorf("%q does not end with the removal of the line", out.String())
	}
}
