package workflow_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLog(t *testing.T) {
	var lines []string
	for i := range 250 {
		lines = append(lines, fmt.Sprint("line ", i+1))
	}
	p := newProject(t, files{
		"specs/a.md": spec("pending", "# T"), "specs/b.md": spec("pending", "# T"), "specs/c.md": spec("pending", "# T"),
		"logs/a.log": strings.Join(lines, "\r\n") + "\r\n", "logs/c.log": "",
	})
	for name, test := range map[string]struct {
		id    string
		lines uint64
		want  string
	}{
		"the last 100 lines": {"a", 100, strings.Join(lines[150:], "\n")},
		"the last 5 lines":   {"a", 5, strings.Join(lines[245:], "\n")},
		"zero lines":         {"a", 0, ""},
		"no log":             {"b", 100, "! No log file found for spec 'b'. Logs are created when a spec is executed with `chant work`."},
		"no log, zero lines": {"b", 0, "! No log file found for spec 'b'. Logs are created when a spec is executed with `chant work`."},
		"an empty log":       {"c", 100, ""},
		"no spec":            {"x", 100, "! Spec not found: x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answer(p.Log(test.id, test.lines)); got != test.want {
				t.Errorf("got %.90q, want %.90q", got, test.want)
			}
		})
	}
	t.Run("a log that links to outside the project is not read", func(t *testing.T) {
		outside := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{outside, "/unseen/secret"} {
			if err := os.Symlink(target, p.Dir.Log("b")); err != nil {
				t.Skipf("symbolic links are not supported: %v", err)
			}
			want := "! .chant/logs/b.log is a symbolic link that points outside the project's .chant directory"
			if got := answer(p.Log("b", 100)); got != want {
				t.Errorf("to %s: got %s, want %s", target, got, want)
			}
			if err := os.Remove(p.Dir.Log("b")); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("a log above the limit is cut, with a warning", func(t *testing.T) {
		huge := p.Dir.Log("c")
		if err := os.WriteFile(huge, []byte("\nthe end\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		data := append([]byte(strings.Repeat("x", 5<<20)), "\nthe end\n"...)
		if err := os.WriteFile(huge, data, 0o600); err != nil {
			t.Fatal(err)
		}
		var warned string
		p.Warn = func(text string) { warned = text }
		if got := answer(p.Log("c", 100)); got != "the end" || !strings.Contains(warned, "last 4 MiB") {
			t.Errorf("got %.40q, warned %q", got, warned)
		}
	})
}
