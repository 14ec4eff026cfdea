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
		"72 the last 100 lines":  {"a", 100, strings.Join(lines[150:], "\n")},
		"72 the last 5 lines":    {"a", 5, strings.Join(lines[245:], "\n")},
		"72 no lines":            {"a", 0, ""},
		"72 no log":              {"b", 100, "! No log file found for spec 'b'. Logs are created when a spec is executed with `chant work`."},
		"72 no log and no lines": {"b", 0, "! No log file found for spec 'b'. Logs are created when a spec is executed with `chant work`."},
		"72 an empty log":        {"c", 100, ""},
		"no spec":                {"x", 100, "! Spec not found: x"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := answer(p.Log(test.id, test.lines)); got != test.want {
				t.Errorf("got %.90q, want %.90q", got, test.want)
			}
		})
	}
	t.Run("a log that leads out of the project is not read", func(t *testing.T) {
		outside := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{outside, "/unseen/secret"} {
			if err := os.Symlink(target, p.Dir.Log("b")); err != nil {
				t.Skipf("no symbolic links here: %v", err)
			}
			want := "! .chant/logs/b.log is a link that leads out of the project's .chant folder"
			if got := answer(p.Log("b", 100)); got != want {
				t.Errorf("to %s: got %s, want %s", target, got, want)
			}
			if err := os.Remove(p.Dir.Log("b")); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("of a huge log the end is returned, and the rest is not passed over in silence", func(t *testing.T) {
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
