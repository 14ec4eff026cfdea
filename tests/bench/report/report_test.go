package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	all, err := Parse(strings.NewReader("goos: linux\nBenchmarkCall/reused/64_at_once-16 \t 100 \t 2.5 x-native \t 7 cpu-µs\nPASS\n"))
	if err != nil || len(all) != 1 || all[0].Name != "Call, reused, 64 at once" || all[0].Values["x-native"] != 2.5 || all[0].Values["cpu-µs"] != 7 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestReplace(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n<!-- a -->\nold\n<!-- b -->\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Replace(page, "<!-- b -->", "<!-- a -->", "x\n"); err == nil {
		t.Error("comments in the wrong order are accepted")
	}
	if err := Replace(page, "<!-- a -->", "<!-- b -->", "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(page); err != nil || string(got) != "before\n<!-- a -->\nnew\n<!-- b -->\nafter\n" {
		t.Errorf("%q, %v", got, err)
	}
}
