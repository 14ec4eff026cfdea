package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
)

// TestTerminalGetsNoHiddenCharactersOfResults prints to a terminal what a file gets unchanged.
func TestTerminalGetsNoHiddenCharactersOfResults(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no pseudoterminal:", err)
	}
	defer terminal.Close()
	const hostile, shown = "a\u202eb\u200bc\x1b[2J ❤\ufe0f\tü", "a·b·c·[2J ❤\ufe0f\tü"
	if got := sanitizeFor(terminal, hostile); got != shown {
		t.Errorf("a terminal gets %+q, want %+q", got, shown)
	}
	var file bytes.Buffer
	if err := printTexts(&file, host.Answer{Result: []byte(`{"content":[{"type":"text","text":"a\u202eb"},{"type":"resource","resource":{"uri":"x:y","text":"\u200b"}}]}`)}); err != nil {
		t.Fatal(err)
	}
	if want := "a\u202eb\n\u200b\n"; file.String() != want {
		t.Errorf("a file gets %+q, want %+q", file.String(), want)
	}
}
