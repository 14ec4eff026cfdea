package tools_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExportAndImport(t *testing.T) {
	team := strings.TrimSuffix(read(t, filepath.Join("..", "testdata", "team.json")), "\n")
	s := newServer(t)
	t.Setenv("MCPKG_PROJECT", "team")
	s.want("import_project", object(t, "content", team), "Imported 2 prompts and 3 resources into project 'team' (0 replaced)")
	s.want("export_project", ``, team)
	s.wantAnswer("resources/read", `{"uri":"file:///logo.png"}`, `{"contents":[{"uri":"file:///logo.png","mimeType":"image/png","blob":"iVBORw0KGgo="}]}`)
	s.wantAnswer("resources/read", `{"uri":"note:first"}`, `{"contents":[{"uri":"note:first","mimeType":"application/x-unknown","text":"a text, whatever its type says"}]}`)

	t.Run("existing items prevent an import", func(t *testing.T) {
		s.want("import_project", object(t, "content", team), "Error: Prompt 'release-notes' already exists in project 'team'; nothing was imported. Set overwrite to replace items of the same name")
	})
	t.Run("overwrite replaces existing items and keeps others", func(t *testing.T) {
		s.call("create_prompt", `{"name":"mine","content":"x"}`)
		s.call("update_prompt", `{"name":"tidy","content":"changed"}`)
		s.want("import_project", object(t, "content", team, "overwrite", true), "Imported 2 prompts and 3 resources into project 'team' (5 replaced)")
		if diff := cmp.Diff([]string{"release-notes", "tidy", "mine"}, s.prompts()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		s.call("delete_prompt", `{"name":"mine"}`)
		s.want("export_project", ``, team)
	})
	t.Run("overwrite refuses a changed pair of name and URI", func(t *testing.T) {
		s.want("import_project", object(t, "content", strings.ReplaceAll(team, `"style"`, `"other"`), "overwrite", true),
			"Error: Resource with URI 'file:///docs/style.md' already exists in project 'team'; nothing was imported")
		s.want("import_project", object(t, "content", strings.ReplaceAll(team, `docs/style.md`, `style.md`), "overwrite", true),
			"Error: Resource 'style' already exists in project 'team' with the URI 'file:///docs/style.md', which an import cannot change: delete the stored resource first")
		s.want("export_project", ``, team)
	})
	t.Run("an invalid file is refused", func(t *testing.T) {
		before := snapshot(t, s.state)
		s.want("import_project", object(t, "content", strings.ReplaceAll(team, `"tidy"`, `"ti dy"`), "overwrite", true),
			"Error: Failed to import project: prompts[1] 'ti dy': Prompt name 'ti dy' contains invalid characters. Allowed: a-z, A-Z, 0-9, -, _, .")
		if diff := cmp.Diff(before, snapshot(t, s.state)); diff != "" {
			t.Errorf("(-before +after)\n%s", diff)
		}
	})
	t.Run("an empty project can be exported and imported", func(t *testing.T) {
		t.Setenv("MCPKG_PROJECT", "empty")
		const empty = "{\n  \"format\": \"mcpkg-project\",\n  \"version\": 1,\n  \"name\": \"empty\",\n  \"prompts\": [],\n  \"resources\": []\n}"
		s.want("export_project", ``, empty)
		s.want("import_project", object(t, "content", empty), "Imported 0 prompts and 0 resources into project 'empty' (0 replaced)")
	})
}

// TestRealDocuments stores Markdown files: those of the sample data or, where the sample data is absent, those of this
// repository.
func TestRealDocuments(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	root := filepath.Join(top, "..", "shared", "fixtures")
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Logf("no directory %s: using the documentation of this repository", root)
		root = top
	}
	s := newServer(t)
	sums := map[string][sha256.Size]byte{}
	const most = 100
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil || len(content) == 0 || len(sums) == most {
			return err
		}
		// The conversion is needed because a JSON string must be valid UTF-8.
		text := strings.ToValidUTF8(string(content), "\ufffd")
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := strings.Map(func(r rune) rune {
			if strings.ContainsRune("/ ()+,@", r) {
				return '_'
			}
			return r
		}, relative)
		uri := "file:///" + strings.ReplaceAll(relative, " ", "%20")
		s.want("create_resource", object(t, "name", name, "uri", uri, "content", text, "mime_type", "text/markdown"), "Created resource '"+name+"' in project 'auth-module'")
		sums[uri] = sha256.Sum256([]byte(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d documents of %s were stored", len(sums), root)
	if len(sums) < 5 {
		t.Fatalf("only %d documents were stored", len(sums))
	}
	for uri, sum := range sums {
		var got struct{ Contents []struct{ Text string } }
		if err := json.Unmarshal([]byte(s.answer("resources/read", object(t, "uri", uri))), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Contents) != 1 || sha256.Sum256([]byte(got.Contents[0].Text)) != sum {
			t.Errorf("the content that the plugin serves for %s differs from the document", uri)
		}
	}
	exported := s.call("export_project", ``)
	t.Setenv("MCPKG_PROJECT", "copy")
	if got := s.call("import_project", object(t, "content", exported)); !strings.HasPrefix(got, "Imported 0 prompts") {
		t.Error(got)
	}
	if got := s.call("export_project", ``); got != strings.Replace(exported, `"name": "auth-module"`, `"name": "copy"`, 1) {
		t.Error("the export of the imported copy differs from the first export")
	}
}
