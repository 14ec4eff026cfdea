package tools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/memory/tools"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/sdktest"
	"github.com/bulkhead-mcp/bulkhead/tests/recorded"
)

// newHost returns a host of the plugin, with a directory for the file of the graph.
func newHost(t *testing.T) (host *sdktest.Host, file string) {
	t.Helper()
	state := t.TempDir()
	t.Setenv("BULKHEAD_STATE", state)
	t.Setenv("MEMORY_FILE_PATH", "")
	p := sdk.New()
	tools.Register(p)
	return sdktest.New(t, p, filepath.Join("..", "plugin.toml")), filepath.Join(state, "memory.jsonl")
}

// departures are the requests of recorded cases, by case and number, that the plugin answers differently, with its
// answers. FILE stands for the path of the file. README.md has the reasons.
var departures = map[string]string{
	"more than a hundred problems 0":            "and 2 more problems",
	"a line that is no JSON 0":                  "FILE: line 2: not a JSON object: repair the line, or remove it",
	"a line that is no JSON 1":                  "FILE: line 2: not a JSON object: repair the line, or remove it",
	"a truncated line 0":                        "FILE: line 2: not a JSON object: repair the line, or remove it",
	"a truncated line 1":                        "FILE: line 2: not a JSON object: repair the line, or remove it",
	"a truncated line 2":                        "FILE: line 2: not a JSON object: repair the line, or remove it",
	"lines that are no objects 0":               "FILE: line 1: not a JSON object: repair the line, or remove it",
	"null 0":                                    "FILE: line 1: not a JSON object: repair the line, or remove it",
	"a byte order mark 0":                       "FILE: line 1: not a JSON object: repair the line, or remove it",
	"an entity without members 0":               "FILE: line 1: name is not a string: repair the line, or remove it",
	"an entity without members 1":               "FILE: line 1: name is not a string: repair the line, or remove it",
	"an observation that is a number 0":         "FILE: line 1: an observation is not a string: repair the line, or remove it",
	"a relation with a number 0":                "FILE: line 1: to is not a string: repair the line, or remove it",
	"a surrogate without its other half 0":      "\"name\": \"\ufffd\"",
	"a surrogate without its other half 1":      "\"name\": \"\ufffd\"",
	"lines of other types, file after the last": `{"type":"entity","name":"a","entityType":"person","observations":[]}` + "\n" + `{"type":"tag","name":"x"}` + "\n" + `{"name":"y"}`,
}

// TestRecordedAnswers repeats the recorded requests, and compares the answers and the file with those of the reference
// server.
func TestRecordedAnswers(t *testing.T) {
	unused := map[string]bool{}
	for name := range departures {
		unused[name] = true
	}
	for _, c := range recorded.Read(t, filepath.Join("..", "testdata", "recorded.jsonl"), 160) {
		t.Run(c.Name, func(t *testing.T) {
			host, file := newHost(t)
			if c.File != nil {
				if err := os.WriteFile(file, []byte(*c.File), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			compare := func(key, got, diff string) {
				t.Helper()
				want, departs := departures[key]
				delete(unused, key)
				switch {
				case departs && diff == "":
					t.Errorf("%s: the answers agree, remove the departure", key)
				case departs && !strings.Contains(strings.ReplaceAll(got, file, "FILE"), want):
					t.Errorf("%s: got %s, want %s", key, got, want)
				case !departs && diff != "":
					t.Errorf("%s (-want +got)\n%s", key, diff)
				}
			}
			for i, r := range c.Requests {
				key := fmt.Sprintf("%s %d", c.Name, i)
				switch {
				case r.Tool != "":
					result, err := host.CallTool(r.Tool, string(r.Arguments))
					if err != nil {
						t.Fatal(key, err)
					}
					compare(key, result.Text(), recorded.Compare(t, r.Result, result.Raw))
				case r.Method == "resources/read":
					got, want := []byte(nil), r.Result
					result, err := host.Request(r.Method, r.Params)
					if refused := (*sdk.Error)(nil); errors.As(err, &refused) {
						got, _ = json.Marshal(refused)
						want = r.Error
					} else if got = result; err != nil {
						t.Fatal(key, err)
					}
					compare(key, string(got), cmp.Diff(recorded.Value(t, want), recorded.Value(t, got)))
				}
			}
			got := "absent"
			if content, err := os.ReadFile(file); err == nil {
				got = string(content)
			}
			want := "absent"
			if c.After != nil {
				want = *c.After
			}
			compare(c.Name+", file after the last", got, cmp.Diff(want, got))
		})
	}
	for name := range unused {
		t.Errorf("no recorded request is called %q", name)
	}
}

// TestLargeArgumentsAreRefused checks that an argument cannot have so many values that the host would not check the
// answer: the graph would be changed, and the call would fail.
func TestLargeArgumentsAreRefused(t *testing.T) {
	host, file := newHost(t)
	arguments := `{"observations":[` + strings.Repeat(`{"entityName":"a","contents":[]},`, 70_000) + `{"entityName":"a","contents":["x"]}]}`
	result, err := host.CallTool("add_observations", arguments)
	if err != nil || !result.IsError || result.Text() != "observations has more than 200000 values: make several calls" {
		t.Errorf("got %.200s, %v", result.Text(), err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file was written")
	}
}

// TestWritersLockAndNotify checks that the tools that write, and no others, lock the directory of the file and notify
// subscribers of the resource.
func TestWritersLockAndNotify(t *testing.T) {
	host, file := newHost(t)
	for tool, arguments := range map[string]string{
		"create_entities": `{"entities":[]}`, "create_relations": `{"relations":[]}`, "add_observations": `{"observations":[]}`,
		"delete_entities": `{"entityNames":[]}`, "delete_observations": `{"deletions":[]}`, "delete_relations": `{"relations":[]}`,
		"read_graph": `{}`, "search_nodes": `{"query":""}`, "open_nodes": `{"names":[]}`,
	} {
		var wantLocked, wantSent []string
		if !slices.Contains([]string{"read_graph", "search_nodes", "open_nodes"}, tool) {
			wantLocked, wantSent = []string{filepath.Dir(file)}, []string{`notifications/resources/updated {"uri":"memory://knowledge-graph"}`}
		}
		locks, notifications := len(host.LockedFolders()), len(host.Notifications())
		if result, err := host.CallTool(tool, arguments); err != nil || result.IsError {
			t.Fatal(tool, result, err)
		}
		var sent []string
		for _, n := range host.Notifications()[notifications:] {
			sent = append(sent, n.Method+" "+string(n.Params))
		}
		if locked := host.LockedFolders()[locks:]; !slices.Equal(locked, wantLocked) || !slices.Equal(sent, wantSent) {
			t.Errorf("%s: locked %q, want %q; sent %q, want %q", tool, locked, wantLocked, sent, wantSent)
		}
	}
}
