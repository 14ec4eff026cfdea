package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
)

const step = "[[scenario.step]]\ntool = \"t\"\n"

func TestInvalidFilesAreRefused(t *testing.T) {
	const head = "[[scenario]]\nname = \"it\"\n"
	for text, want := range map[string]string{
		"":                                       "it.toml: scenario: is missing",
		"a = 1\n" + head + step:                  "it.toml:1: a: is not a known key",
		"[[scenario]]\n" + step:                  "it.toml:1: scenario[0].name: is missing",
		head:                                     "it.toml:1: scenario[0].step: is missing",
		head + step + head + step:                "it.toml:6: scenario[1].name: is also the name of another scenario",
		head + "[[scenario.step]]\ntxet = \"x\"": `it.toml:4: scenario[0].step[0].txet: is not a known key`,
		head + "[[scenario.step]]\ntext = \"x\"": "it.toml:3: scenario[0].step[0].tool: the step has 0 of the keys",
		head + step + `prompt = "p"`:             "scenario[0].step[0].tool: the step has 2 of the keys",
		head + step + `arguments_json = "[]"`:    "it.toml:5: scenario[0].step[0].arguments_json: is not a JSON object",
		head + step + `arguments_json = "{"`:     "arguments_json: is not JSON",
		head + step + "arguments = {}\narguments_json = \"{}\"":                                 "arguments_json: is set beside arguments",
		head + step + "error = { code = 1 }\ntext = \"\"":                                       "step[0].text: is set beside error",
		head + step + `matches = "("`:                                                           "step[0].matches: is not a regular expression: missing closing ): `(`",
		head + step + `asked = { a = {} }`:                                                      "step[0].asked: is set without answers",
		head + step + `answers = { a = 1 }`:                                                     "step[0].answers.a: is not a table",
		head + step + `notifications = [{ params = {} }]`:                                       "step[0].notifications[0].method: is missing",
		head + "[[scenario.step]]\nlist = \"x\"":                                                `step[0].list: "x" is not a list`,
		head + "[[scenario.step]]\ncomplete = { argument = \"a\" }":                             "step[0].complete.prompt: the completion needs either",
		head + step + "[scenario.files]\n\"../a\" = \"\"":                                       `files."../a": is not a path in the project`,
		head + step + "[scenario.files]\n\"/a\" = \"\"":                                         "is not a path in the project",
		head + step + "[scenario.files]\n\"a/./b\" = \"\"":                                      "is not a path in the project",
		head + step + "[scenario.files]\n\"a\\\\b\" = \"\"":                                     "is not a path in the project",
		head + step + "[scenario.files]\n\"${home}/../a\" = \"\"":                               "is not a path in the project",
		head + step + "[scenario.files]\n\"${home}\" = \"\"":                                    "without other placeholders",
		head + step + "[scenario.files]\n\"${cwd}/a\" = \"\"":                                   "without other placeholders",
		head + step + "[scenario.files]\n\"a\\u0000\" = \"\"":                                   "without NUL",
		head + step + "[scenario.files]\n\".bulkhead-x\" = \"\"":                                "has a name that the host reserves and hides from plugins",
		head + step + "[scenario.files]\n\"a\" = { base64 = \"*\" }":                            "files.a.base64: is not base64",
		head + step + "[scenario.files]\n\"a/\" = \"x\"":                                        "is a directory",
		head + step + "[scenario.after]\n\"a\" = { absent = false }":                            "after.a: does not have exactly one condition",
		head + step + "[scenario.after]\n\"a\" = { absent = true, unchanged = true }":           "after.a: does not have exactly one condition",
		head + "from = \"../x\"\n" + step:                                                       "scenario[0].from: is not a directory beside the scenario file",
		head + "[scenario.grants]\npath = \"/x\"\n" + step:                                      "it.toml:4: scenario[0].grants.path: is not allowed in grants: the command sets it",
		head + "[scenario.grants]\nraed_only = true\n" + step:                                   "it.toml:4: scenario[0].grants.raed_only: is not a known key",
		head + "[scenario.grants]\ncredentials = { a = { env = \"A\" } }\n" + step:              "it.toml:4: scenario[0].grants.credentials: is not a known key",
		head + "[scenario.grants]\nfs = [{ path = \"/etc\", access = \"r\" }]\n" + step:         `grants.fs[0]: "/etc" is not in the directories of the scenario`,
		head + "[scenario.grants]\ngit = [{ repo = \"${env:HOME}\", access = \"r\" }]\n" + step: `grants.git[0]: "${env:HOME}" is not in the directories of the scenario`,
	} {
		_, ps := scenario.Parse("it.toml", []byte(text))
		if err := ps.Err(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestLoadExplainsAbsentFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b")
	if err := os.MkdirAll(filepath.Join(dir, "tests"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := scenario.Load(dir); err == nil || !strings.Contains(err.Error(), "has no scenario files") || !strings.Contains(err.Error(), "[[scenario.step]]") {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "tests", "a.toml"), []byte("[[scenario]]\nname = \"it\"\n"+step), 0o644); err != nil {
		t.Fatal(err)
	}
	if files, err := scenario.Load(dir); err != nil || len(files) != 1 {
		t.Errorf("got %v, %v", files, err)
	}
}

// FuzzParse checks that no scenario file makes the reader fail otherwise than with problems.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"all.toml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "probe", "tests", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("[[scenario]]\nname = \"it\"\n[scenario.grants]\nfs = [{ path = \"/etc\", access = \"r\" }]\n" + step))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, ps := scenario.Parse("it.toml", data)
		if ps.Err() == nil && len(parsed.Scenarios) == 0 {
			t.Error("a file without scenarios has no problem")
		}
		for _, p := range ps {
			if p.File != "it.toml" || p.What == "" {
				t.Errorf("the problem %+v names no place", p)
			}
		}
	})
}

// TestDocumentedScenariosAreValid parses the scenarios in the guide.
func TestDocumentedScenariosAreValid(t *testing.T) {
	page, err := os.ReadFile("../../../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, block := range strings.Split(string(page), "```toml\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		if _, ps := scenario.Parse("testing.md", []byte(text)); ps != nil {
			t.Errorf("%v\n%s", ps, text)
		}
		found++
	}
	if found < 4 {
		t.Errorf("the page has %d scenarios", found)
	}
}
