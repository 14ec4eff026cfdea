//go:build unix

package tests

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// avoidedPhrases matches the phrases in the last column of the glossary in CONTRIBUTING.md.
func avoidedPhrases(t *testing.T) *regexp.Regexp {
	t.Helper()
	code := regexp.MustCompile("`([^`]+)`")
	var phrases []string
	for line := range strings.Lines(readFile(t, "../CONTRIBUTING.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 5 {
			continue
		}
		for _, m := range code.FindAllStringSubmatch(cells[3], -1) {
			phrases = append(phrases, regexp.QuoteMeta(m[1]))
		}
	}
	if len(phrases) < 15 {
		t.Fatalf("only %d phrases were found in the glossary", len(phrases))
	}
	return regexp.MustCompile(`(?i)\b(` + strings.Join(phrases, "|") + `)`)
}

// namesAndWordings are what contains an avoided phrase for a reason: the name of an account of Unix, and a text that modules compare.
var namesAndWordings = strings.NewReplacer("user nobody", "", "nobody to name as the author", "")

// joined returns text without the line breaks and comment markers that may divide a phrase.
func joined(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "//", " ")), " ")
}

func TestVocabularyIsStandard(t *testing.T) {
	t.Parallel()
	avoided := avoidedPhrases(t)
	check := func(where, text string) {
		for _, phrase := range avoided.FindAllString(namesAndWordings.Replace(joined(text)), -1) {
			t.Errorf("%s: %q: use the term of the glossary in CONTRIBUTING.md", where, phrase)
		}
	}
	for name, text := range markdownPages(t) {
		if name != "CONTRIBUTING.md" {
			check(name, text)
		}
	}
	files := token.NewFileSet()
	for _, dir := range []string{"cmd", "examples", "host", "internal", "plugins", "sdk", "tests"} {
		err := filepath.WalkDir(filepath.Join("..", dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
			if err != nil {
				return err
			}
			for _, group := range file.Comments {
				check(files.Position(group.Pos()).String(), group.Text())
			}
			if dir == "plugins" || strings.HasSuffix(path, "_test.go") {
				return nil // strings in plugins and tests are contract texts and expectations
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
					check(files.Position(s.Pos()).String(), s.Value)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
