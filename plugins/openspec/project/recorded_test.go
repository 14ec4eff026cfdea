package project_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var recordedFlag = flag.String("recorded", "", "a file of recorded cases to compare with, instead of those in testdata")

// recordedCase is a project with the answers of the openspec CLI 1.13.2, and with the files of the project after all
// commands. The CLI ran in the directory /project.
type recordedCase struct {
	Name  string            `json:"n"`
	Files map[string]string `json:"files"`
	Runs  []struct {
		Command []string        `json:"command"`
		JSON    json.RawMessage `json:"json"` // absent if the CLI printed text instead of JSON
	} `json:"runs"`
	After map[string]string `json:"after"` // the content of each file; the key is the path, and each code point stands for one byte
}

// TestRecordedAnswers compares the answers about generated projects with those of the openspec CLI.
func TestRecordedAnswers(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "testdata", "recorded", "*.jsonl"))
	if *recordedFlag != "" {
		paths = []string{*recordedFlag}
	}
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are %d files of recorded cases, %v", len(paths), err)
	}
	c := &comparison{t, map[int]bool{}}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var one recordedCase
			if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
				t.Fatal(err)
			}
			t.Run(one.Name, func(t *testing.T) { c.recorded(t, one) })
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *comparison) recorded(t *testing.T, one recordedCase) {
	root := copyProject(t, "")
	for name, content := range one.Files {
		writeFile(t, filepath.Join(root, name), content)
	}
	for _, r := range one.Runs {
		command := strings.Join(r.Command, " ")
		answer := runWords(t, open(root), r.Command)
		if r.JSON == nil {
			continue
		}
		want := withoutTimes(decode(t, string(r.JSON), "/project"))
		c.compare(t, command, want, withoutTimes(decode(t, answer, root)))
	}
	got := map[string]string{}
	for name, content := range readTree(t, root) {
		if !strings.HasSuffix(name, "/") {
			got[name] = content
		}
	}
	want := map[string]string{}
	for name, content := range one.After {
		want[name] = fromCodePoints(content)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files afterwards (-want +got)\n%s", diff)
	}
}

// withoutTimes removes modification times, which differ in each run.
func withoutTimes(value any) any {
	answer, _ := value.(map[string]any)
	list, _ := answer["changes"].([]any)
	for _, item := range list {
		if item, ok := item.(map[string]any); ok {
			delete(item, "lastModified")
		}
	}
	return value
}

func fromCodePoints(text string) string {
	raw := make([]byte, 0, len(text))
	for _, r := range text {
		raw = append(raw, byte(r))
	}
	return string(raw)
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
