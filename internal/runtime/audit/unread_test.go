//go:build unix

package audit_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// readUnread reads what is new in a log since the positions known, pauses after each entry, and returns the names of the tools.
func readUnread(t *testing.T, file string, known []audit.Position) (tools string, changed bool, now []audit.Position) {
	t.Helper()
	u, err := audit.OpenUnread(file, known)
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	for all := false; !all; {
		const limit = 1 << 10
		all, err = u.Read(limit, func(e audit.Entry) error {
			tools += e.Tool + " "
			return audit.ErrPause
		}, func(d audit.Damage) { tools += fmt.Sprintf("damaged:%d ", d.Line) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if now, err = u.Positions(); err != nil {
		t.Fatal(err)
	}
	return tools, u.Changed, now
}

func TestUnreadContinuesWhereItStopped(t *testing.T) {
	file := newFile(t)
	line := func(tool string) string {
		return fmt.Sprintf(`{"time":"2026-11-23T10:00:00Z","kind":"call","id":"r-%s","tool":"%s"}`+"\n", tool, tool)
	}
	change := func(flag int, text string) func() {
		return func() {
			f, err := os.OpenFile(file, flag|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(text); err != nil {
				t.Fatal(err)
			}
		}
	}
	copied := func() {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file+".2", text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	appended, written := os.O_APPEND, os.O_TRUNC
	long := strings.Repeat("x", audit.MaxLine)
	var known []audit.Position
	for _, step := range []struct {
		what    string
		do      func()
		tools   string
		changed bool
	}{
		{"first", change(appended, line("a")+line("b")), "a b ", false},
		{"nothing", func() {}, "", false},
		{"incomplete", change(appended, line("c")[:20]), "", false},
		{"complete", change(appended, line("c")[20:]), "c ", false},
		{"damaged", change(appended, "x\n"+line("d")), "damaged:4 d ", false},
		{"rotated", func() {
			if err := os.Rename(file, file+".1"); err != nil {
				t.Fatal(err)
			}
			change(appended, line("e"))()
		}, "e ", false},
		{"appended to the rotated file, as by a writer that did not notice", func() {
			f, err := os.OpenFile(file+".1", os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := f.WriteString(line("late")); err != nil {
				t.Fatal(err)
			}
		}, "late ", false},
		{"edited", change(written, line("e")[:60]+"\n"+line("f")), "damaged:1 f ", true},
		{"emptied", change(written, ""), "", true},
		{"longer than a line", change(written, long+long+"\n"+line("g")), "damaged:1 g ", false},
		{"after it", change(appended, line("h")), "h ", false},
		{"the begin of a line that is too long", change(appended, long+long), "damaged:4 ", false},
		{"more of it", change(appended, long+"x"), "", false},
		{"its end", change(appended, "x\n"+line("i")), "i ", false},
		{"damaged after it", change(appended, "x\n"), "damaged:6 ", false},
		{"a copy beside it", func() {
			copied()
			change(appended, line("j"))()
		}, "j ", false},
		{"longer than the copy", change(appended, line("k")), "k ", false},
		{"copied and truncated", func() {
			copied()
			change(written, line("l"))()
		}, "l ", false},
	} {
		step.do()
		tools, changed, now := readUnread(t, file, known)
		if tools != step.tools || changed != step.changed {
			t.Errorf("%s: read %q, changed: %t", step.what, tools, changed)
		}
		known = now
	}
}

// TestUnreadIsReadInBoundedParts has files without a record, one of which has no line feed either.
func TestUnreadIsReadInBoundedParts(t *testing.T) {
	const limit = 256 << 10
	for name, text := range map[string]string{"damaged lines": strings.Repeat("no record\n", 200_000), "one line": strings.Repeat("\x00", 2_000_000), "empty lines": strings.Repeat("\n", 2_000_000)} {
		file := newFile(t)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var known []audit.Position
		parts := 0
		for all := false; !all; parts++ {
			u, err := audit.OpenUnread(file, known)
			if err != nil {
				t.Fatal(err)
			}
			before := u.Size()
			all, err = u.Read(limit, func(audit.Entry) error { return nil }, func(audit.Damage) {})
			if read := before - u.Size(); err != nil || u.Changed || read <= 0 || read > limit+audit.MaxLine {
				t.Fatalf("%s: read %d bytes, changed: %t, %v", name, read, u.Changed, err)
			}
			if known, err = u.Positions(); err != nil {
				t.Fatal(err)
			}
			if err := u.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if parts < 2_000_000/(limit+audit.MaxLine) {
			t.Errorf("%s: read in %d parts", name, parts)
		}
	}
}
