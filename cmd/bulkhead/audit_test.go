package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/term"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

func TestParseSince(t *testing.T) {
	zone := time.FixedZone("x", 3600)
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, zone)
	for text, want := range map[string]string{
		"30m": "2026-11-22T11:30:00+01:00", "7d": "2026-11-15T12:00:00+01:00", "0s": "2026-11-22T12:00:00+01:00",
		"2026-11-20": "2026-11-20T00:00:00+01:00", "2026-11-20T10:00:00Z": "2026-11-20T10:00:00Z",
		"2026-11-20 10:00:00": "2026-11-20T10:00:00+01:00", "2026-11-20T10:00": "2026-11-20T10:00:00+01:00",
		"-1h": "", "": "", "yesterday": "", "1": "", "d": "", "-1d": "", "99999999d": "", "2026-13-01": "", "12:00": "",
	} {
		since, ok := parseTime(text, now, -1)
		if ok != (want != "") || ok && since.Format(time.RFC3339) != want {
			t.Errorf("%q: got %s, %t, want %q", text, since, ok, want)
		}
	}
}

func TestAuditOutputEscapesLog(t *testing.T) {
	const hostile = "\x1b[2Ja\nb\u202e\u009b"
	e := audit.Entry{
		Kind: audit.KindRefused, Plugin: hostile, Client: hostile, Method: hostile, Tool: hostile, Outcome: hostile, Code: hostile, Cause: hostile,
		Operations: []audit.Operation{{Op: hostile, Target: hostile}},
		Line:       []byte("{\"tool\":\t\"\u202e\u009b\x7f\xff é\U000e0041\"}\n"),
	}
	for _, kind := range []audit.Kind{audit.KindCall, audit.KindRefused, audit.KindGap, hostile} {
		e.Kind = kind
		if text := formatEntry(term.Style{}, e); strings.ContainsAny(text, "\x1b\n\u202e\u009b") {
			t.Errorf("the line of an entry of the kind %q contains a control character: %q", kind, text)
		}
	}
	var out bytes.Buffer
	if err := printRecord(&out, e); err != nil {
		t.Fatal(err)
	}
	if want := `{"tool":"\u202e\u009b\u007f` + "\ufffd é" + `\udb40\udc41"}` + "\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestInterruptedAuditIsNotComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(file, []byte(`{"time":"2026-11-22T10:00:00Z","kind":"call"}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := auditCommand{file: file}
	if err := a.run(ctx, io.Discard, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	a.follow = true
	if err := a.run(ctx, io.Discard, io.Discard); err != nil {
		t.Errorf("with --follow: %v", err)
	}
}
