//go:build unix

package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/guide"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
)

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```")
	quoted = regexp.MustCompile("`([^`]+)`|\"([^\"`|]+)\"")
	// isCode are quotations that are not texts of the program: code, commands and settings.
	isCode = regexp.MustCompile(`[(){}=<>$|×]|^(bulkhead|go|just|git|ssh|sudo|npm|cargo|docker|kubectl|claude|codex|gemini|brew|shasum|xattr|base64|\.ci/languages|[A-Z_]+=1) |--|^Authorization: |^Error calling tool|bulkhead-compile DIR`)
	// logLine is a line of the log: its message, and its values.
	logLine = regexp.MustCompile(`(?m)^\[(?:ERROR|WARN|INFO)\] +[a-z.]+: (.+?)(?:: [a-z]+=|:$|$)`)
)

// programTexts returns the sources that contain the texts of the program.
func programTexts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, directory := range []string{"cmd", "host", "internal", "sdk", "plugins", "examples", "api"} {
		err := filepath.WalkDir(filepath.Join("..", directory), func(path string, item fs.DirEntry, err error) error {
			if err != nil || item.IsDir() || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".toml", ".js", ".ts", ".rs", ".h"}, filepath.Ext(path)) {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

// TestDocsQuoteTextsOfTheProgram checks that the messages that pages quote exist in the program. A quotation is code or in quotation marks, and has at
// least three words; "…" stands for anything. The blocks of docs/admin.md and of the guide are compared with real output by tests of their own.
func TestDocsQuoteTextsOfTheProgram(t *testing.T) {
	program := programTexts(t)
	exists := func(text string) bool {
		for part := range strings.SplitSeq(text, "…") {
			if !strings.Contains(program, strings.TrimSpace(part)) {
				return false
			}
		}
		return true
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := 0
	for _, page := range append(pages, "../README.md", "../SECURITY.md") {
		content := readFile(t, page)
		for _, match := range quoted.FindAllStringSubmatch(strings.Join(strings.Fields(fenced.ReplaceAllString(content, "")), " "), -1) {
			text := match[1] + match[2]
			if len(strings.Fields(text)) < 3 || isCode.MatchString(text) {
				continue
			}
			texts++
			if !exists(text) {
				t.Errorf("%s quotes %q, which is not in the program", page, text)
			}
		}
		for _, match := range logLine.FindAllStringSubmatch(content, -1) {
			texts++
			if !exists(match[1]) {
				t.Errorf("%s quotes the log line %q, which the program does not log", page, match[1])
			}
		}
	}
	if texts < 9 {
		t.Errorf("only %d quotations were found", texts)
	}
}

// TestDocsAdminPageShowsRealLog compares the log line of a rejected change with the page.
func TestDocsAdminPageShowsRealLog(t *testing.T) {
	fine := "# 1\n# 2\n# 3\n# 4\n# 5\n# 6\n# 7\n# 8\n# 9\n# 10\n# 11\n[[plugins]]\npath = '../plugins/a'\n"
	w := hosttest.New(t, hosttest.Plugin("a", []byte("not loaded"), hosttest.Reads("a_reads")), hosttest.Files{"work/bulkhead.toml": fine})
	h := w.Open(t, w.Options())
	w.Log.Reset()
	w.Write(t, hosttest.Files{"work/bulkhead.toml": fine + "alow_tools = ['notes_*']\n"})
	if err := h.Reload(t.Context()); err == nil {
		t.Fatal("an unknown key is accepted")
	}
	logged := strings.TrimSpace(strings.ReplaceAll(w.Log.String(), w.Dir+"/work", "/home/me/app"))
	logged = strings.Replace(logged[strings.LastIndex(logged, "\n")+1:], "[ERROR] ", "[ERROR] bulkhead: ", 1)
	for _, b := range guide.Blocks(readFile(t, "../docs/admin.md")) {
		if strings.HasPrefix(b.Text, "[ERROR] bulkhead: a change of the configuration is rejected") {
			if got := strings.TrimSpace(b.Text); got != logged {
				t.Errorf("the page has %s\nthe program logs %s", got, logged)
			}
			return
		}
	}
	t.Error("the page does not show the log line")
}
