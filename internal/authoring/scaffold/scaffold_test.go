package scaffold_test

import (
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scaffold"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// TestSourcesAreComplete compares the embedded sources with the files in the repository, so that the patterns of the embedding
// package are extended when a file that they do not match is added. Tests are not embedded.
func TestSourcesAreComplete(t *testing.T) {
	found := 0
	err := fs.WalkDir(os.DirFS("../../.."), "sdk", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".go" {
			return err
		}
		found++
		if _, err := fs.Stat(bulkhead.Sources, name); (err == nil) == strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s: embedded: %t", name, err == nil)
		}
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("found %d files: %v", found, err)
	}
}

// TestCreateWritesValidFiles creates a plugin in each language with each set of features.
func TestCreateWritesValidFiles(t *testing.T) {
	for _, language := range scaffold.Languages() {
		for set := range 1 << len(scaffold.Features) {
			o := scaffold.Options{Name: "my-notes", Dir: t.TempDir(), Language: language}
			for i, feature := range scaffold.Features {
				if set&(1<<i) != 0 {
					o.With = append(o.With, feature)
				}
			}
			r, err := scaffold.Create(o)
			if language == "go-command" && len(o.With) > 0 {
				if err == nil || !strings.Contains(err.Error(), "needs an SDK") {
					t.Errorf("%s with %q: got %v", language, o.With, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(language, o.With, err)
			}
			for _, name := range r.Files {
				content, err := os.ReadFile(filepath.Join(r.Dir, name))
				if err != nil {
					t.Fatal(err)
				}
				if text := string(content); !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.Contains(text, "\n\n\n") || strings.Contains(text, "<no value>") {
					t.Errorf("%s with %q: %s is not formatted:\n%s", language, o.With, name, text)
				}
				for line := range strings.Lines(string(content)) {
					if name == "README.md" && strings.HasPrefix(line, "|") && strings.Count(line, "|") != 3 {
						t.Errorf("%s with %q: a row of the table in %s has not two columns: %s", language, o.With, name, line)
					}
				}
				if filepath.Ext(name) == ".go" {
					if formatted, err := format.Source(content); err != nil || string(formatted) != string(content) {
						t.Errorf("%s with %q: gofmt changes %s (%v)", language, o.With, name, err)
					}
				}
			}
			files, err := scenario.Load(r.Dir)
			if err != nil || len(files) != 1 || len(files[0].Scenarios) != 2+len(o.With) {
				t.Errorf("%s with %q: the scenarios are %v, %v", language, o.With, files, err)
			}
			m, problems := manifest.Load(r.Dir)
			if problems != nil {
				t.Fatal(language, o.With, problems)
			}
			if ps := m.Check(); ps != nil {
				t.Error(language, o.With, ps)
			}
		}
	}
}

func TestCreateWithPublishedSDKCopiesNoSources(t *testing.T) {
	r, err := scaffold.Create(scaffold.Options{Name: "notes", Dir: t.TempDir(), Language: "go", Published: true, Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".gitignore", "README.md", "go.mod", "main.go", "main_test.go", "plugin.toml", "tests/greet.toml"}
	if !slices.Equal(r.Files, want) || r.SDK != "" || r.Next[0] != "go mod tidy" {
		t.Errorf("got %+v, want the files %q", r, want)
	}
	mod, err := os.ReadFile(filepath.Join(r.Dir, "go.mod"))
	if want := "require github.com/bulkhead-mcp/bulkhead v1.2.3\n"; err != nil || !strings.HasSuffix(string(mod), want) {
		t.Errorf("go.mod is %q, %v, want the suffix %q", mod, err, want)
	}
}

func TestCreateRemovesTemporaryDirectoryAfterError(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "notes"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, o := range []scaffold.Options{
		{Name: "notes", Language: "go"},
		{Name: "n", Language: "fortran"},
		{Name: strings.Repeat("n", 60), Language: "go"},
	} {
		o.Dir = dir
		if _, err := scaffold.Create(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}

// Where an imported plugin is written, a checkout can have a symbolic link.
func TestWriteFollowsNoLinkOfCheckout(t *testing.T) {
	checkout, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(checkout, "dist")); err != nil {
		t.Skip("no symbolic links:", err)
	}
	t.Chdir(checkout)
	err := scaffold.Write(filepath.Join("dist", "new"), map[string][]byte{"plugin.toml": nil})
	if err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("got %v", err)
	}
	if entries, err := os.ReadDir(outside); len(entries) > 0 || err != nil {
		t.Errorf("outside of the checkout: %v, %v", entries, err)
	}
}

// A process that was killed leaves its unfinished directory. The next one removes it, but none of a process that is alive.
func TestLeftoversOfKilledProcessAreRemoved(t *testing.T) {
	dir := t.TempDir()
	abandoned, foreign := filepath.Join(dir, ".notes.bulkhead-new-1"), filepath.Join(dir, ".notes.new-1")
	alive, err := tempdir.In(dir, ".notes.bulkhead-new-")
	if err != nil {
		t.Fatal(err)
	}
	for _, left := range []string{abandoned, foreign} {
		if err := os.MkdirAll(filepath.Join(left, "notes"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := scaffold.Write(filepath.Join(dir, "notes"), map[string][]byte{"a/b": []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if got, err := filepath.Glob(filepath.Join(dir, "*[^k]")); err != nil || !slices.Equal(got, []string{alive.Path, foreign, filepath.Join(dir, "notes")}) {
		t.Errorf("the directory has %q, %v", got, err)
	}
	if err := alive.Remove(); err != nil {
		t.Error(err)
	}
}

func TestLeftoversAreThoseOfTheTemplates(t *testing.T) {
	r, err := scaffold.Create(scaffold.Options{Name: "notes", Dir: t.TempDir(), Language: "go"})
	if err != nil {
		t.Fatal(err)
	}
	var texts [2]string
	for i, name := range []string{"plugin.toml", "README.md"} {
		text, err := os.ReadFile(filepath.Join(r.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	if got := scaffold.Leftovers(texts[0], texts[1]); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	if got := scaffold.Leftovers("Keeps notes.", "# notes\n"); got != nil {
		t.Errorf("got %q", got)
	}
}
