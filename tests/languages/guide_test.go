//go:build unix

package languages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/build"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
)

// TestGuideParts builds the plugin whose parts each page of the guide shows in a language, with the page's manifest. The calls of its tools
// print what the page shows, as the plugin in Go does.
func TestGuideParts(t *testing.T) {
	toolchains := map[string]string{"rust": "Rust", "c": "C", "ts": "AssemblyScript", "js": "JavaScript"}
	pages, err := filepath.Glob("../../docs/guide/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("found only %d pages (%v)", len(pages), err)
	}
	for _, l := range guide.Languages {
		t.Run(toolchains[l.Name], func(t *testing.T) {
			examples, language := "", language{}
			for _, known := range languages {
				if known.name == toolchains[l.Name] {
					examples, language = filepath.Join(source(t, known), "examples"), known
				}
			}
			withProgram(t)
			called := 0
			for _, page := range pages {
				text, err := os.ReadFile(page)
				if err != nil {
					t.Fatal(err)
				}
				blocks := guide.Blocks(string(text))
				files := l.Assemble(blocks)
				if files == nil {
					continue
				}
				t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
					dir := filepath.Join(examples, "guide-parts-"+l.Name) // one for all pages: its dependencies are compiled once
					for file, text := range files {
						write(t, filepath.Join(dir, file), text)
					}
					prepare(t, language, filepath.Join(examples, language.example), dir)
					shell := newShell(t)
					if _, err := build.Build(t.Context(), dir, build.Options{Out: shell.Path("home/me/notes/dist/plugins")}); err != nil {
						t.Fatal(err)
					}
					called += compareCalls(t, shell, guide.Source(blocks, l.Name), blocks)
				})
			}
			if called < 5 {
				t.Errorf("only %d calls were compared", called)
			}
		})
	}
}

// prepare gives a plugin the dependencies that the example of its language has, so that nothing is downloaded.
func prepare(t *testing.T, l language, example, dir string) {
	t.Helper()
	switch l.name {
	case "Rust":
		lock, err := os.ReadFile(filepath.Join(example, "Cargo.lock"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "Cargo.lock"), string(lock))
	case "AssemblyScript", "JavaScript":
		run(t, dir, []string{"ln", "-sfn", filepath.Join(example, "node_modules"), "node_modules"})
	}
}

// newShell returns a shell in a project with a note, whose plugins are in the directory of the pages.
func newShell(t *testing.T) guide.Shell {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := guide.Shell{Root: root, Env: []string{
		"PATH=" + os.Getenv("PATH"), "TZ=UTC", "HOME=" + root + "/home/me",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com",
	}}
	write(t, s.Path("home/me/app/tea.md"), "# Tea\n\nGreen tea: two minutes.\n")
	for _, line := range []string{
		"cd /home/me/app", "git init -q -b main && git add . && git commit -q -m Tea",
		"export BULKHEAD_PLUGINS=/home/me/notes/dist/plugins",
	} {
		if out, err := s.Run(t.Context(), line); err != nil || out != "" {
			t.Fatalf("%s: %s %v", line, out, err)
		}
	}
	return s
}

// compareCalls makes the calls of a page that succeed, without those in pipes, and whose tool the source has, and returns their number. What they print to stdout
// has to be what the page shows, where progress and logs come before it.
func compareCalls(t *testing.T, s guide.Shell, source string, blocks []guide.Block) int {
	t.Helper()
	calls := 0
	for _, b := range blocks {
		if b.Language == "toml" && strings.HasPrefix(b.Text, guide.Config) {
			write(t, s.Path("home/me/app/bulkhead.toml"), s.Rooted(b.Text))
		}
		if b.Language != "console" {
			continue
		}
		for _, c := range b.Commands() {
			call, ok := strings.CutPrefix(c.Line, "bulkhead call ")
			tool, _, _ := strings.Cut(call, " ")
			if !ok || c.Failed() || strings.Contains(call, "|") || !strings.Contains(source, `"`+tool+`"`) {
				continue
			}
			calls++
			got, err := s.Run(t.Context(), c.Line+" 2>/dev/null")
			if err != nil || got == "" || !strings.HasSuffix(c.Output, got) {
				t.Errorf("line %d: %s (%v)\ngot  %q\nwant %q", b.Line, c.Line, err, got, c.Output)
			}
		}
	}
	return calls
}

func write(t *testing.T, file, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
