//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/tests/recorded"
)

// offers is the recorded case with what a reference server offers.
const offers = "what the server offers"

// listDepartures are the members, by request, that a plugin served alone has and its reference server has not ("+"), or the other way
// round ("-"). The READMEs of the plugins have the reasons.
var listDepartures = map[string][]string{
	"memory initialize":             {"-/capabilities/tools/listChanged"},
	"memory tools/list":             {"+/tools/*/icons", "-/tools/*/execution"},
	"time initialize":               {"-/capabilities/prompts", "-/capabilities/resources", "-/capabilities/tools/listChanged"},
	"time tools/list":               {"+/tools/*/icons", "+/tools/*/title"},
	"time prompts/list":             {"-/prompts", "+/error"},
	"time resources/list":           {"-/resources", "+/error"},
	"time resources/templates/list": {"-/resourceTemplates", "+/error"},
}

// TestServedAloneAsReferenceServers compares what plugins offer, and how they are called, with what their reference servers do.
func TestServedAloneAsReferenceServers(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, plugin := range []string{"memory", "time"} {
		s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", plugin, "--project", newDir(t, nil)))
		for _, c := range recorded.Read(t, filepath.Join("..", "plugins", plugin, "testdata", "recorded.jsonl"), 0) {
			if c.Name != offers {
				continue
			}
			for _, r := range c.Requests {
				params := r.Params
				if r.Method == "initialize" {
					params = json.RawMessage(`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
				}
				var answer struct{ Result, Error json.RawMessage }
				line := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, r.Method, params))
				if err := json.Unmarshal([]byte(line), &answer); err != nil {
					t.Fatal(err)
				}
				want, got := value(t, r.Result, r.Error), value(t, answer.Result, answer.Error)
				key := plugin + " " + r.Method
				seen[key] = true
				found := slices.Compact(slices.Sorted(slices.Values(membersThatDiffer("", want, got))))
				allowed := slices.Sorted(slices.Values(listDepartures[key]))
				if diff := cmp.Diff(allowed, found); diff != "" {
					t.Errorf("%s %s: departures that are listed and found (-want +got)\n%s", key, params, diff)
				}
			}
		}
		s.end()
	}
	for key := range listDepartures {
		if !seen[key] {
			t.Errorf("no request is called %q", key)
		}
	}
}

// value decodes a result, or an error as the object {"error": …}. Descriptions are removed.
func value(t *testing.T, result, failure json.RawMessage) any {
	t.Helper()
	if result == nil {
		return map[string]any{"error": recorded.Value(t, failure)}
	}
	return undescribed(recorded.Value(t, result))
}

func undescribed(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = undescribed(v[i])
		}
	case map[string]any:
		if _, isText := v["description"].(string); isText {
			delete(v, "description")
		}
		for name := range v {
			v[name] = undescribed(v[name])
		}
	}
	return v
}

// membersThatDiffer returns the paths of members that only one of two values has ("-": want, "+": got), or that differ ("!"). An asterisk
// stands for the elements of an array.
func membersThatDiffer(path string, want, got any) (paths []string) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		for name := range got {
			if _, both := want[name]; !both {
				paths = append(paths, "+"+path+"/"+name)
			}
		}
		for name, member := range want {
			if other, both := got[name]; both {
				paths = append(paths, membersThatDiffer(path+"/"+name, member, other)...)
			} else {
				paths = append(paths, "-"+path+"/"+name)
			}
		}
		return paths
	case []any:
		got, ok := got.([]any)
		if !ok || len(want) != len(got) {
			break
		}
		for i := range want {
			paths = append(paths, membersThatDiffer(path+"/*", want[i], got[i])...)
		}
		return paths
	}
	if !cmp.Equal(want, got) {
		paths = append(paths, "!"+path)
	}
	return paths
}

// TestModulesAnswerAsReferenceServers repeats recorded calls that depend neither on the time nor on a file that exists, with the built
// modules. Native tests of the plugins repeat all of them.
func TestModulesAnswerAsReferenceServers(t *testing.T) {
	t.Parallel()
	for plugin, names := range map[string][]string{
		"memory": {"entities", "relations", "observations", "search", "strings of all kinds", "arguments of wrong types"},
		"time":   {"keys that are no zones"},
	} {
		for _, c := range recorded.Read(t, filepath.Join("..", "plugins", plugin, "testdata", "recorded.jsonl"), 0) {
			if !slices.Contains(names, c.Name) {
				continue
			}
			names = slices.DeleteFunc(names, func(name string) bool { return name == c.Name })
			t.Run(plugin+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				cmd := programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", plugin, "--project", newDir(t, nil))
				state := t.TempDir()
				cmd.Env = append(cmd.Env, "XDG_STATE_HOME="+state)
				s := startServer(t, cmd)
				for i, r := range c.Requests {
					if r.Tool == "" {
						continue
					}
					arguments := r.Arguments
					if arguments == nil {
						arguments = json.RawMessage("{}")
					}
					var answer struct{ Result json.RawMessage }
					if err := json.Unmarshal([]byte(s.ask(callLine(1, r.Tool, compactJSON(t, arguments)))), &answer); err != nil {
						t.Fatal(err)
					}
					if diff := recorded.Compare(t, r.Result, answer.Result); diff != "" {
						t.Errorf("%d: %s %s (-want +got)\n%s", i, r.Tool, arguments, diff)
					}
				}
				s.end()
				if c.After != nil {
					if got := readFile(t, filepath.Join(state, "bulkhead", plugin, "memory.jsonl")); got != *c.After {
						t.Errorf("the file has %s, want %s", got, *c.After)
					}
				}
			})
		}
		if len(names) > 0 {
			t.Errorf("%s: there are no cases %q", plugin, names)
		}
	}
}

// TestConcurrentServersLoseNoMemory adds to one graph by two servers at the same time.
func TestConcurrentServersLoseNoMemory(t *testing.T) {
	t.Parallel()
	const rounds = 30
	state, project := "XDG_STATE_HOME="+t.TempDir(), newDir(t, nil)
	var servers []*server
	for number := range 2 {
		c := programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "memory", "--project", project)
		c.Env = append(c.Env, state)
		servers = append(servers, startServer(t, c))
		servers[number].mustCall("read_graph", `{}`) // both have a worker before the first change
	}
	for i := range rounds {
		for number, s := range servers {
			s.sendCall("create_entities", fmt.Sprintf(`{"entities":[{"name":"n%d of %d","entityType":"t","observations":[]}]}`, i, number))
		}
	}
	for _, s := range servers {
		for range rounds {
			if _, r := s.nextAnswer(); r.IsError {
				t.Errorf("got %+v", r)
			}
		}
	}
	for _, s := range servers {
		if n := strings.Count(s.mustCall("read_graph", `{}`), `"name":`); n != 2*rounds {
			t.Errorf("%d of %d entities are in the graph", n, 2*rounds)
		}
		s.end()
	}
}

// TestMemoryFileNeedsGrant checks that MEMORY_FILE_PATH gives access to nothing: the directory of the file must be granted.
func TestMemoryFileNeedsGrant(t *testing.T) {
	t.Parallel()
	entity := `{"type":"entity","name":"tea","entityType":"drink","observations":[]}`
	dir := newDir(t, map[string]string{"notes/graph.jsonl": entity, "project/keep": ""})
	serve := func(grants string) *server {
		config := filepath.Join(dir, "bulkhead.toml")
		putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\nenv = { MEMORY_FILE_PATH = %q }\n%s", filepath.Join(built.plugins(t), "memory"), filepath.Join(dir, "notes", "graph.jsonl"), grants))
		return startServer(t, programCommand(t, "serve", "--config", config, "--project", filepath.Join(dir, "project")))
	}
	s := serve("")
	for tool, arguments := range map[string]string{"read_graph": `{}`, "delete_entities": `{"entityNames":["tea"]}`} {
		s.wantToolError(tool, arguments, "MEMORY_FILE_PATH: ", "grant it with fs = [{ path = ")
	}
	s.waitForLog("denied: op=stat", filepath.Join(dir, "notes"))
	s.end()
	if got := readFile(t, filepath.Join(dir, "notes", "graph.jsonl")); got != entity {
		t.Errorf("the file has %s", got)
	}

	s = serve(fmt.Sprintf("fs = [{ path = %q, access = \"rw\" }]\n", filepath.Join(dir, "notes")))
	if got := s.mustCall("read_graph", `{}`); !strings.Contains(got, "tea") {
		t.Errorf("got %s", got)
	}
	s.mustCall("delete_entities", `{"entityNames":["tea"]}`)
	s.end()
	if entries, err := os.ReadDir(filepath.Join(dir, "notes")); err != nil || len(entries) != 1 || readFile(t, filepath.Join(dir, "notes", "graph.jsonl")) != "" {
		t.Errorf("the directory has %v, %v", entries, err)
	}
}
