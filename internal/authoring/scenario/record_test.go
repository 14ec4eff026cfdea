package scenario_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scenario"
	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

var update = flag.Bool("update", false, "write testdata/recorded.toml")

func record(t *testing.T, rec scenario.Recording) string {
	t.Helper()
	data, err := scenario.Record(t.Context(), probe(t), rec)
	if err != nil {
		t.Fatal(err)
	}
	return string(data.Content)
}

func call(tool, arguments string) scenario.Request {
	return scenario.Request{Kind: "tool", Name: tool, Arguments: json.RawMessage(arguments)}
}

// TestRecordWritesScenarioThatPasses records requests of each kind, and runs what was recorded.
func TestRecordWritesScenarioThatPasses(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"old.txt": "old\n${project}\n", "gone": "\x00\xff", "sub/same.txt": "same"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	rec := scenario.Recording{
		File: filepath.Join(t.TempDir(), "tests", "it.toml"), Name: "it", Files: dir,
		Requests: []scenario.Request{
			call("write", `{"path":"${project}/old.txt","text":"a\n\"b\" \\ '''\n\n"}`),
			call("write", `{"path":"${project}/gone"}`),
			call("write", `{"path":"${home}/.probe/new","text":"home"}`),
			call("read", `{"path":"${project}/none"}`),
			call("read", `{"path":"/etc/hostname"}`),
			call("count", `{"text":"abc","n":null}`),
			call("count", ``),
			call("error", `{"code":-32099,"message":"a \"reason\""}`),
			call("ask", `{"message":"Who?"}`),
			{Kind: "prompt", Name: "probe_prompt", Arguments: json.RawMessage(`{"text":"it"}`)},
			{Kind: "resource", Name: "probe:bytes"},
		},
		Answers: map[string]json.RawMessage{"name": json.RawMessage(`{"action":"accept","content":{"name":"Ada"}}`), "age": json.RawMessage(`{"action":"cancel"}`)},
	}
	for i := range rec.Requests {
		if len(rec.Requests[i].Arguments) == 0 {
			rec.Requests[i].Arguments = nil
		}
	}
	got := record(t, rec)
	if *update {
		if err := os.WriteFile("testdata/recorded.toml", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/recorded.toml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the recorded file differs (want -, got +):\n%s\n%s", diff, got)
	}
	if again := record(t, rec); again != got {
		t.Errorf("the second recording differs:\n%s", cmp.Diff(got, again))
	}
	results, err := runText(t, got)
	if err != nil || len(results) != 1 || !results[0].Passed {
		t.Errorf("the recorded scenario fails: %+v, %v", results, err)
	}
}

func TestRecordNamesFilesBesideScenario(t *testing.T) {
	dir := t.TempDir()
	files := filepath.Join(dir, "tests", "project")
	if err := os.MkdirAll(files, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(files, "a.txt"), []byte("given"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := record(t, scenario.Recording{File: filepath.Join(dir, "tests", "it.toml"), Name: "it", Files: files,
		Requests: []scenario.Request{call("read", `{"path":"${project}/a.txt"}`)}})
	if !strings.Contains(got, "from = \"project\"\n") || !strings.Contains(got, `text = "given"`) || strings.Contains(got, "files") && strings.Contains(got, "[scenario.files]") {
		t.Errorf("got\n%s", got)
	}
}

// A recorded scenario is committed, so it has no file that is hidden, ignored or secret by its name.
func TestRecordLeavesOutHiddenIgnoredAndSecretFiles(t *testing.T) {
	repository := t.TempDir()
	dir := filepath.Join(repository, "sub")
	for name, content := range map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[remote \"o\"]\nurl = https://user:canary@x.invalid/\n", ".git/objects/x": "", ".git/refs/x": "",
		".gitignore": "/sub/build/\n*.log\n", "sub/.env": "canary", "sub/.ssh/config": "canary", "sub/build/out": "canary", "sub/a/x.log": "canary",
		"sub/server.PEM": "canary", "sub/id_rsa": "canary", "sub/Credentials.json": "canary", "sub/prod.env": "canary", "sub/a/secrets/x": "canary",
		"sub/.gitignore": "own\n", "sub/own": "canary",
		"sub/a/kept.txt": "kept", "sub/environment.go": "kept", "sub/tokenizer.go": "kept",
	} {
		testenv.WriteFile(t, filepath.Join(repository, filepath.FromSlash(name)), content)
	}
	for _, files := range []string{dir, repository} {
		rec, err := scenario.Record(t.Context(), probe(t), scenario.Recording{File: filepath.Join(t.TempDir(), "tests", "it.toml"), Name: "it", Files: files,
			Requests: []scenario.Request{call("write", `{"path":"${project}/new","text":"x"}`)}})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"a/kept.txt", "environment.go", "tokenizer.go"}
		leftOut := []string{".env (hidden)", ".gitignore (hidden)", ".ssh (hidden)", "Credentials.json (may contain a secret)", "a/secrets (may contain a secret)", "a/x.log (ignored by Git)",
			"build (ignored by Git)", "id_rsa (may contain a secret)", "own (ignored by Git)", "prod.env (may contain a secret)", "server.PEM (may contain a secret)"}
		if files == repository {
			for i := range want {
				want[i] = "sub/" + want[i]
			}
			for i := range leftOut {
				leftOut[i] = "sub/" + leftOut[i]
			}
			leftOut = append([]string{".git (hidden)", ".gitignore (hidden)"}, leftOut...)
		}
		if !slices.Equal(rec.Files, want) || !slices.Equal(rec.LeftOut, leftOut) {
			t.Errorf("files %q\nleft out %q", rec.Files, rec.LeftOut)
		}
		if text := string(rec.Content); strings.Contains(text, "canary") || strings.Count(text, "\"kept\"") != 3 {
			t.Errorf("got\n%s", text)
		}
	}
}

func TestRecordNeedsAnswers(t *testing.T) {
	_, err := scenario.Record(t.Context(), probe(t), scenario.Recording{File: "it.toml", Name: "it",
		Requests: []scenario.Request{call("ask", `{"message":"Who?"}`)}, Answers: map[string]json.RawMessage{"age": json.RawMessage(`{"action":"cancel"}`)}})
	if err == nil || !strings.Contains(err.Error(), `asks "name", and there is no answer`) || !strings.Contains(err.Error(), "--answer name=JSON") {
		t.Errorf("got %v", err)
	}
}

// The directory of scenario files, or a file in it, can be a symbolic link of a checkout.
func TestWriteFollowsNoLink(t *testing.T) {
	for _, link := range []string{"tests", "tests/it.toml"} {
		plugin, outside := t.TempDir(), t.TempDir()
		at, target := filepath.Join(plugin, link), outside
		if link != "tests" {
			target = filepath.Join(outside, "it.toml")
			testenv.WriteFile(t, target, "precious")
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, at); err != nil {
			t.Skip("no symbolic links:", err)
		}
		before := testenv.ReadFiles(t, outside)
		rec := scenario.Recording{File: filepath.Join(plugin, "tests", "it.toml")}
		for _, force := range []bool{false, true} {
			if err := rec.Write([]byte("a"), force); err == nil || !strings.Contains(err.Error(), "symbolic link "+at) {
				t.Errorf("%s, force %t: got %v", link, force, err)
			}
		}
		if diff := cmp.Diff(before, testenv.ReadFiles(t, outside)); diff != "" {
			t.Errorf("%s: %s", link, diff)
		}
	}
}

func TestWriteReplacesOnlyIfForced(t *testing.T) {
	rec := scenario.Recording{File: filepath.Join(t.TempDir(), "tests", "it.toml")}
	if err := rec.Write([]byte("a"), false); err != nil {
		t.Fatal(err)
	}
	if err := rec.Write([]byte("b"), false); !os.IsExist(err) {
		t.Errorf("got %v", err)
	}
	if err := rec.Write([]byte("c"), true); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(rec.File); err != nil || string(data) != "c" {
		t.Errorf("the file has %q, %v", data, err)
	}
}
