//go:build unix

package tests

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scaffold"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testcache"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// startPage is the page of the guide that shows the files that `bulkhead plugin new` creates. Other pages show parts of one plugin, or create it.
const startPage = "../docs/getting-started.md"

func guidePages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../docs/guide/*.md")
	if err != nil || len(pages) < 8 {
		t.Fatalf("found only %d pages (%v)", len(pages), err)
	}
	return append(pages, startPage)
}

// TestGuidePagesWork builds the plugin whose parts a page shows, runs its native tests, and runs the page's commands in order. Their output
// has to be the one that the page shows; with -update it is written to the page. Blocks in other languages are built by tests/languages.
func TestGuidePagesWork(t *testing.T) {
	t.Parallel()
	for _, page := range guidePages(t) {
		t.Run(strings.TrimSuffix(filepath.Base(page), ".md"), func(t *testing.T) {
			t.Parallel()
			if page != startPage {
				testenv.All(t, "builds and tests a plugin with the go command")
			}
			testcache.DependOn(t, "..")
			text := readFile(t, page)
			all := guide.Blocks(text)
			w := newGuideWorld(t, page, all)
			updated := text
			for _, b := range all {
				if b.Untested != "" {
					continue
				}
				switch b.Language {
				case "console":
					var real strings.Builder
					for _, c := range b.Commands() {
						got := w.run(t, c.Line)
						if diff := cmp.Diff(c.Output, got); diff != "" && !*update {
							t.Errorf("%s:%d: %s (want -, got +)\n%s", page, b.Line, c.Line, diff)
						}
						real.WriteString("$ " + c.Line + "\n")
						if got != "" {
							real.WriteString(got + "\n")
						}
					}
					updated = strings.Replace(updated, "```console\n"+b.Text+"```", "```console\n"+real.String()+"```", 1)
				case "sh":
					for _, c := range b.Commands() {
						if c.Output = w.run(t, c.Line); c.Failed() {
							t.Errorf("%s:%d: %s:\n%s", page, b.Line, c.Line, c.Output)
						}
					}
				case "go":
					if page == startPage && b.File == "" {
						w.addCode(t, b)
					}
				case "toml":
					if page == startPage && b.IsManifest() {
						editFile(t, w.Path(guidePlugin+"/plugin.toml"), func(text string) string { return text + "\n" + b.Text })
					} else if b.File == "" && !b.IsManifest() {
						if _, problems := config.Parse("bulkhead.toml", []byte(b.Text)); problems.Err() != nil {
							t.Errorf("%s:%d: %v", page, b.Line, problems.Err())
						}
						putFile(t, w.Path(guideProject+"/bulkhead.toml"), w.Rooted(b.Text))
					} else if b.File != "" && page != startPage {
						putFile(t, filepath.Join(w.Path(guidePlugin), b.File), b.Text)
					}
				}
			}
			if *update && updated != text {
				putFile(t, page, updated)
			}
		})
	}
}

// TestGuideBlocksAreTested fails for a block in a language that no test uses, unless the info string says why. It lists the tests.
func TestGuideBlocksAreTested(t *testing.T) {
	tested := map[string]string{
		"go": "TestGuidePagesWork", "console": "TestGuidePagesWork", "sh": "TestGuidePagesWork", "toml": "TestGuidePagesWork",
		"json": "TestDocsDataBlocksParse",
	}
	for _, l := range guide.Languages {
		tested[l.Name] = "TestGuideParts of tests/languages"
	}
	// Pages of languages show complete files, which TestGuidesPluginWorks of tests/languages builds, and the commands to do it.
	languagePages := []string{"../docs/rust.md", "../docs/c.md", "../docs/assemblyscript.md", "../docs/javascript.md"}
	for _, page := range append(guidePages(t), languagePages...) {
		for _, b := range guide.Blocks(readFile(t, page)) {
			switch {
			case b.Untested != "":
			case tested[b.Language] == "":
				t.Errorf("%s:%d: no test uses blocks in %q: write \"not tested: REASON\" in the info string, or extend TestGuidePagesWork", page, b.Line, b.Language)
			case strings.Contains(page, "/guide/") || page == startPage:
			case b.File == "" && b.Language != "sh":
				t.Errorf("%s:%d: no test uses the block: it is no complete file", page, b.Line)
			}
		}
	}
}

// guideWorld maps the paths that the guide assumes to directories: the plugin /home/me/notes and the project /home/me/app.
type guideWorld struct{ guide.Shell }

const (
	guidePlugin  = "home/me/notes"
	guideProject = "home/me/app"
)

// createsPlugin reports whether a page begins with the creation of its plugin, in place of showing parts of one.
func createsPlugin(all []guide.Block) bool {
	i := slices.IndexFunc(all, func(b guide.Block) bool { return b.Language == "console" })
	return i >= 0 && strings.HasPrefix(all[i].Commands()[0].Line, "bulkhead plugin new ")
}

// run runs a command line after those before it.
func (w guideWorld) run(t *testing.T, line string) string {
	t.Helper()
	out, err := w.Run(t.Context(), line)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func newGuideWorld(t *testing.T, page string, all []guide.Block) guideWorld {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := guideWorld{guide.Shell{Root: root, Vary: []guide.Mask{{Pattern: missing}}}}
	w.Env = append(goEnvironment(t),
		"PATH="+filepath.Dir(built.program(t))+string(os.PathListSeparator)+os.Getenv("PATH"), "TZ=UTC",
		"HOME="+root+"/home/me", "XDG_CACHE_HOME="+built.cache(t), "LC_ALL=C.UTF-8", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=2026-03-01T12:00:00Z",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=2026-03-01T12:00:00Z",
	)
	if createsPlugin(all) {
		if err := os.MkdirAll(w.Path(guideProject+"/.git"), 0o755); err != nil {
			t.Fatal(err)
		}
		w.run(t, "cd /home/me/")
		if page == startPage {
			w.checkCreatedFiles(t, page, all)
		}
		return w
	}
	files, err := guide.Go(all, "")
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	source := files["main.go"]
	files["plugin.toml"] = guide.Manifest(all, "notes.wasm", `go = "."`, source)
	plugin := w.writePlugin(t, files)
	if files["main_test.go"] != "" {
		w.must(t, plugin, "go", "test", "./...")
	}
	w.must(t, plugin, built.program(t), "plugin", "build", ".")
	w.must(t, plugin, built.program(t), "plugin", "check", "dist/plugins/notes")
	project := w.Path(guideProject)
	putFile(t, filepath.Join(project, "tea.md"), "# Tea\n\nGreen tea: two minutes.\n")
	w.must(t, project, "git", "init", "-q", "-b", "main")
	w.must(t, project, "git", "add", ".")
	w.must(t, project, "git", "commit", "-q", "-m", "Add a note about tea")
	w.run(t, "cd /home/me/app && export BULKHEAD_PLUGINS=/home/me/notes/dist/plugins")
	return w
}

// checkCreatedFiles checks that the files on a page are those that `bulkhead plugin new` creates.
func (w guideWorld) checkCreatedFiles(t *testing.T, page string, all []guide.Block) {
	t.Helper()
	r, err := scaffold.Create(scaffold.Options{Name: "notes", Dir: t.TempDir(), Language: "go"})
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, b := range all {
		if b.File == "" {
			continue
		}
		shown++
		if diff := cmp.Diff(readFile(t, filepath.Join(r.Dir, b.File)), b.Text); diff != "" {
			t.Errorf("%s:%d: %s is not what `bulkhead plugin new` creates (want -, got +)\n%s", page, b.Line, b.File, diff)
		}
	}
	if shown < 2 {
		t.Errorf("%s shows only %d created files", page, shown)
	}
}

// addCode adds declarations to the created main.go.
func (w guideWorld) addCode(t *testing.T, b guide.Block) {
	t.Helper()
	editFile(t, w.Path(guidePlugin+"/main.go"), func(text string) string {
		files, err := guide.Go([]guide.Block{b}, text)
		if err != nil {
			t.Fatal(err)
		}
		return files["main.go"]
	})
}

// writePlugin writes the files of a plugin in Go, with the go.mod of examples/hello.
func (w guideWorld) writePlugin(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := w.Path(guidePlugin)
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files = maps.Clone(files)
	files["go.mod"] = strings.NewReplacer("example.com/hello", "example.com/notes", "=> ../..", "=> "+repository).Replace(readFile(t, "../examples/hello/go.mod"))
	files["go.sum"] = readFile(t, "../examples/hello/go.sum")
	for name, text := range files {
		putFile(t, filepath.Join(dir, name), text)
	}
	return dir
}

func (w guideWorld) must(t *testing.T, dir string, command ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command[0], command[1:]...)
	c.Dir, c.Env = dir, w.Env
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%q: %v\n%s", command, err, out)
	}
}
