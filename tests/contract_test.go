//go:build unix

package tests

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// departure is an intentional difference from the contract: the reason and the correct answer.
type departure struct{ why, answer string }

// Reasons and answers shared by several departures.
const (
	asMCP = "unknown methods, unknown tools and calls without a name get the errors of MCP and JSON-RPC, since one server answers for several plugins"
	rows  = "lists are objects with total, limit and returned, and rows have depends_on and labels, as the prose of the contract says; its sample is a bare array of shorter rows"
	list  = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\n  \"specs\": [\n    {\n      \"id\": \"2026-01-22-001-x7m\",\n      \"title\": \"Add user authentication\",\n      \"status\": \"in_progress\",\n      \"type\": \"feature\",\n      \"depends_on\": null,\n      \"labels\": null\n    }\n  ],\n  \"total\": 1,\n  \"limit\": 50,\n  \"returned\": 1\n}"}]}}`
)

// departures lists all departures from the examples in testdata/contract by example name, except for annotations in
// tools/list, which TestContractTools checks.
var departures = map[string]departure{
	"all specs are listed":       {rows, list},
	"specs are listed by status": {rows, list},
	"a spec is found by a part of its id": {
		"the sample is shortened: the answer has all fields, and the body begins with the title",
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\n  \"id\": \"2026-01-22-001-x7m\",\n  \"title\": \"Add user authentication\",\n  \"status\": \"in_progress\",\n  \"type\": \"feature\",\n  \"depends_on\": null,\n  \"labels\": null,\n  \"target_files\": null,\n  \"context\": null,\n  \"prompt\": null,\n  \"branch\": null,\n  \"commits\": null,\n  \"completed_at\": null,\n  \"model\": null,\n  \"body\": \"# Add user authentication\\n\\n## Description\\n\\nImplement user auth...\"\n}"}]}}`,
	},
	"the summary with activity": {
		"the sample is shortened: an ellipsis stands for five counts, and a row for two",
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\n  \"total\": 20,\n  \"pending\": 3,\n  \"in_progress\": 2,\n  \"completed\": 15,\n  \"failed\": 0,\n  \"blocked\": 0,\n  \"cancelled\": 0,\n  \"needs_attention\": 0,\n  \"in_progress_activity\": [\n    {\n      \"id\": \"2026-01-22-001-x7m\",\n      \"title\": \"Add user auth\",\n      \"spec_modified\": \"2026-01-22 14:30:00\",\n      \"log_modified\": \"2026-01-22 14:35:00\",\n      \"has_log\": true\n    },\n    {\n      \"id\": \"2026-01-22-002-p0q\",\n      \"title\": \"Add audit trail\",\n      \"spec_modified\": \"2026-01-22 13:30:00\",\n      \"log_modified\": null,\n      \"has_log\": false\n    }\n  ]\n}"}]}}`,
	},
	"a line is not JSON": {
		"the text after the prefix is that of the JSON library",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: invalid character 'i' looking for beginning of value at byte 1"}}`,
	},
	"the tool has no name":              {asMCP, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing tool name"}}`},
	"the name of the tool is no string": {asMCP, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Missing tool name"}}`},
	"the tool is unknown":               {asMCP, `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: chant_nope"}}`},
	"the method is unknown":             {asMCP, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found: nope"}}`},
}

// example is a request of the contract and its answer.
type example struct{ name, request, answer string }

// examples reads a file of testdata/contract: the files of a project, and requests with their answers.
func examples(t *testing.T, file string) (project map[string]string, all []example) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	project = map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "ask: "); ok {
			all = append(all, example{name: name, request: strings.TrimSpace(string(f.Data))})
		} else if name, ok := strings.CutPrefix(f.Name, "answer: "); ok {
			if len(all) == 0 || all[len(all)-1].name != name {
				t.Fatalf("%s: the answer %q does not follow its request", file, name)
			}
			all[len(all)-1].answer = string(bytes.TrimSpace(f.Data))
		} else {
			project[f.Name] = string(f.Data)
		}
	}
	if len(all) == 0 {
		t.Fatalf("%s has no examples", file)
	}
	return project, all
}

// newExampleDir creates the project of an example, with the modification times that the contract shows.
func newExampleDir(t *testing.T, files map[string]string) string {
	t.Helper()
	project := newDir(t, files)
	for name := range files {
		at := time.Date(2026, 1, 22, 13, 30, 0, 0, time.UTC)
		switch {
		case strings.HasSuffix(name, "-x7m.md"):
			at = time.Date(2026, 1, 22, 14, 30, 0, 0, time.UTC)
		case strings.HasSuffix(name, "-x7m.log"):
			at = time.Date(2026, 1, 22, 14, 35, 0, 0, time.UTC)
		}
		if err := os.Chtimes(filepath.Join(project, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	return project
}

// TestContractExamples sends every example twice: all examples of a file to one server, and each example alone to a server
// whose stdin ends right after the request, without a line break. The first example is also sent alone with a line break.
func TestContractExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "contract", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples (%v)", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		project, all := examples(t, file)
		for _, e := range all {
			seen[e.name] = true
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			s := serveChant(t, newExampleDir(t, project))
			for _, e := range all {
				s.send(e.request)
				if e.answer != "" {
					e.compare(t, s.receive())
				}
			}
			s.end()
			for _, e := range all {
				e.compare(t, pipe(t, newExampleDir(t, project), e.request))
			}
			first := all[0]
			first.compare(t, pipe(t, newExampleDir(t, project), first.request+"\n"))
		})
	}
	for name := range departures {
		if !seen[name] {
			t.Errorf("the departure %q matches no example", name)
		}
	}
}

// compare compares a line ("" for none) with the example's answer or departure. It fails if a departure equals the contract.
func (e example) compare(t *testing.T, got string) {
	t.Helper()
	d, departs := departures[e.name]
	right := e.answer
	if departs {
		right = d.answer
	}
	if right == "" || got == "" {
		if right != got {
			t.Errorf("%s: got %q, want %q", e.name, got, right)
		}
		return
	}
	if diff := cmp.Diff(decodeJSON(t, right), decodeJSON(t, got)); diff != "" {
		t.Errorf("%s (-want +got)\n%s", e.name, diff)
	}
	if departs && cmp.Equal(decodeJSON(t, e.answer), decodeJSON(t, got)) {
		t.Errorf("%s: is no departure, remove it (%s)", e.name, d.why)
	}
}

// pipe serves chant with the given stdin and returns its stdout without the last line break.
func pipe(t *testing.T, project, input string) string {
	t.Helper()
	cmd := chantCommand(t, project)
	var out, log bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// TestContractUpdateWritesSpecFile checks the file that the update of the contract produces.
func TestContractUpdateWritesSpecFile(t *testing.T) {
	t.Parallel()
	const file = ".chant/specs/2026-01-22-001-x7m.md"
	project := newDir(t, map[string]string{file: "---\ntype: feature\nstatus: in_progress\n---\n\n# Feature Implementation\n\nSome initial content...\n"})
	pipe(t, project, callLine(1, "chant_spec_update", `{"id":"001","status":"completed","output":"Implementation complete. All tests passing."}`))
	want := "---\ntype: feature\nstatus: completed\n---\n# Feature Implementation\n\nSome initial content...\n\n## Output\n\nImplementation complete. All tests passing.\n"
	if diff := cmp.Diff(want, readFile(t, filepath.Join(project, file))); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// listed is a tool of tools/list, with the exact bytes of its schema.
type listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations map[string]bool `json:"annotations"`
}

// TestContractTools checks that tools/list has the tools, the order, the descriptions and the exact schema bytes of the
// contract, and that annotations are the only addition.
func TestContractTools(t *testing.T) {
	t.Parallel()
	var want []listed
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join("testdata", "contract", "tools.json"))), &want); err != nil {
		t.Fatal(err)
	}
	writes := []string{"chant_spec_update", "chant_add", "chant_finalize", "chant_resume", "chant_cancel", "chant_archive"}
	for i, tool := range want {
		want[i].Annotations = map[string]bool{"readOnlyHint": !slices.Contains(writes, tool.Name)}
	}
	const request = `{"jsonrpc":"2.0","method":"tools/list","id":1}`
	asBytes := cmp.Transformer("text", func(raw json.RawMessage) string { return string(raw) })
	for name, line := range map[string]string{
		"as the first line":                serveChant(t, newDir(t, nil)).ask(request),
		"piped in with a final line break": pipe(t, newDir(t, nil), request+"\n"),
		"piped in without one":             pipe(t, newDir(t, nil), request),
	} {
		var got struct {
			Version string `json:"jsonrpc"`
			ID      int    `json:"id"`
			Result  struct {
				Tools []listed `json:"tools"`
			} `json:"result"`
		}
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields() // for example nextCursor or title
		if err := d.Decode(&got); err != nil || got.Version != "2.0" || got.ID != 1 {
			t.Errorf("%s: %v: %s", name, err, line)
		}
		if diff := cmp.Diff(want, got.Result.Tools, asBytes); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
