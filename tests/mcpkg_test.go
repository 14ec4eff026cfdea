//go:build unix

package tests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// serveMcpkg serves mcpkg alone, with a new store.
func serveMcpkg(t *testing.T) *server {
	t.Helper()
	return startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "mcpkg", "--project", newDir(t, nil), "--env", "MCPKG_PROJECT=auth-module"))
}

// TestMcpkgContractExamples sends every request of mcpkg's contract to the built program, after the calls that set up
// its state. The contract does not distinguish absent from false.
func TestMcpkgContractExamples(t *testing.T) {
	t.Parallel()
	var all []struct {
		Name, Method          string
		Params, Result, Error json.RawMessage
		Before                []struct {
			Tool      string
			Arguments json.RawMessage
		}
	}
	raw, err := os.ReadFile("../plugins/mcpkg/testdata/contract.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &all); err != nil || len(all) < 16 {
		t.Fatalf("%d examples: %v", len(all), err)
	}
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := serveMcpkg(t)
			for _, call := range e.Before {
				s.mustCall(call.Tool, compactJSON(t, call.Arguments))
			}
			want, member := e.Result, "result"
			if want == nil {
				want, member = e.Error, "error"
			}
			answer := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, e.Method, compactJSON(t, e.Params)))
			if diff := cmp.Diff(withoutFalse(t, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"%s":%s}`, member, want)), withoutFalse(t, []byte(answer))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			s.end()
		})
	}
}

// TestMcpkgServedAloneMatchesContract checks that a server of mcpkg alone has exactly the name, capabilities and tools of the
// contract.
func TestMcpkgServedAloneMatchesContract(t *testing.T) {
	t.Parallel()
	s := serveMcpkg(t)
	got := s.ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	want := `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"prompts":{},"resources":{},"tools":{}},"serverInfo":{"name":"mcpkg","version":"0.1.0"}}}`
	if diff := cmp.Diff(withoutFalse(t, []byte(want)), withoutFalse(t, []byte(got))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if names := s.names(); len(names) != 6 {
		t.Errorf("the tools are %q", names)
	}
	s.wantUnknown("export_project")
	s.mustCall("create_prompt", `{"name":"quiet","content":"x"}`) // fails if a notification precedes the answer
	s.end()
}

// TestMcpkgServedAloneDoesNotPaginate checks that lists have all items, since clients of the contract do not support pages.
func TestMcpkgServedAloneDoesNotPaginate(t *testing.T) {
	t.Parallel()
	const count = 1100
	var prompts, resources []string
	for i := range count {
		prompts = append(prompts, fmt.Sprintf(`{"name":"p%d","content":"x"}`, i))
		resources = append(resources, fmt.Sprintf(`{"name":"r%d","uri":"a:%d","content":"x"}`, i, i))
	}
	content, err := json.Marshal(`{"format":"mcpkg-project","version":1,"prompts":[` + strings.Join(prompts, ",") + `],"resources":[` + strings.Join(resources, ",") + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	s := startServer(t, programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "mcpkg", "--all-tools", "--project", newDir(t, nil), "--env", "MCPKG_PROJECT=p"))
	s.mustCall("import_project", fmt.Sprintf(`{"content":%s}`, content))
	for _, method := range []string{"prompts/list", "resources/list"} {
		answer := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q}`, method))
		if got := strings.Count(answer, `"name":`); got != count || strings.Contains(answer, "nextCursor") {
			t.Errorf("%s: %d items: %.300s", method, got, answer)
		}
	}
	s.end()
}

// TestMcpkgReadOnlyHasNoTools checks that a read-only server of mcpkg alone has no tools, and lists prompts and resources.
func TestMcpkgReadOnlyHasNoTools(t *testing.T) {
	t.Parallel()
	dir := newDir(t, map[string]string{"bulkhead.toml": fmt.Sprintf("[[plugins]]\npath = %q\nread_only = true\nenv = { MCPKG_PROJECT = \"p\" }\n", filepath.Join(built.plugins(t), "mcpkg"))})
	s := startServer(t, programCommand(t, "serve", "--config", filepath.Join(dir, "bulkhead.toml"), "--plugin", "mcpkg", "--project", newDir(t, nil)))
	for method, want := range map[string]string{
		"tools/list": `{"tools":[]}`, "prompts/list": `{"prompts":[]}`, "resources/list": `{"resources":[]}`, "resources/templates/list": `{"resourceTemplates":[]}`,
	} {
		if got := s.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q}`, method)); got != `{"jsonrpc":"2.0","id":7,"result":`+want+`}` {
			t.Errorf("%s: got %s", method, got)
		}
	}
	s.wantUnknown("create_prompt")
	s.end()
}

// TestConcurrentServersCreateEachPromptOnce creates the same prompts by two servers at the same time. Exactly one server must
// create each prompt, and both must list all prompts.
func TestConcurrentServersCreateEachPromptOnce(t *testing.T) {
	t.Parallel()
	const rounds = 30
	state, project := "XDG_STATE_HOME="+t.TempDir(), newDir(t, nil)
	var servers []*server
	for number := range 2 {
		c := programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "mcpkg", "--project", project, "--env", "MCPKG_PROJECT=p")
		c.Env = append(c.Env, state)
		servers = append(servers, startServer(t, c))
		for i := range rounds {
			servers[number].sendCall("create_prompt", fmt.Sprintf(`{"name":"n%d","content":"of %d"}`, i, number))
		}
	}
	created := map[string]int{} // number of answers by text
	for _, s := range servers {
		for range rounds {
			_, r := s.answer()
			created[r.Text]++
		}
	}
	for i := range rounds {
		made, taken := fmt.Sprintf("Created prompt 'n%d' in project 'p'", i), fmt.Sprintf("Error: Prompt 'n%d' already exists in project 'p'", i)
		if created[made] != 1 || created[taken] != 1 {
			t.Errorf("n%d was created %d times and refused %d times, want 1 and 1", i, created[made], created[taken])
		}
	}
	for _, s := range servers {
		list := s.ask(`{"jsonrpc":"2.0","id":"list","method":"prompts/list"}`)
		if n := bytes.Count([]byte(list), []byte(`"name":`)); n != rounds {
			t.Errorf("%d of %d prompts are listed: %s", n, rounds, list)
		}
		s.end()
	}
}

// compactJSON removes line breaks, which would end the message.
func compactJSON(t *testing.T, value json.RawMessage) string {
	t.Helper()
	var line bytes.Buffer
	if err := json.Compact(&line, value); err != nil {
		t.Fatal(err)
	}
	return line.String()
}

// withoutFalse decodes JSON and removes object members that are false.
func withoutFalse(t *testing.T, raw []byte) any {
	t.Helper()
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var clean func(v any)
	clean = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, member := range v {
				if member == false {
					delete(v, key)
					continue
				}
				clean(member)
			}
		case []any:
			for _, item := range v {
				clean(item)
			}
		}
	}
	clean(value)
	return value
}
