package dispatch_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

func TestAuditRecordsInvalidResult(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering(`{"result":{"x":1}}`), hosttest.Reads("a_reads")),
		hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = \"${env:HOME}/log\"\n[[plugins]]\npath = \"../plugins/a\"\n"})
	h, err := host.Open(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	got := hosttest.Request(t, h, "tools/call", `{"name":"a_reads"}`)
	if want := "bulkhead: a_reads returned an invalid result: content is missing"; !strings.Contains(got, want) {
		t.Errorf("got %s, want it to say %q", got, want)
	}
	_ = h.Close(t.Context())
	log, err := os.ReadFile(w.Dir + "/home/log")
	if want := `"outcome":"failed","code":"invalid_result"`; err != nil || !strings.Contains(string(log), want) {
		t.Errorf("the log is %s (%v), want it to say %s", log, err, want)
	}
}

// requestLines returns the lines of the audit log without those of the server's starts and ends.
func requestLines(t *testing.T, w *hosttest.World) []string {
	t.Helper()
	log, err := os.ReadFile(w.Dir + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(log)), "\n"), func(line string) bool { return strings.Contains(line, `"kind":"server"`) })
}

func TestRefusedPromptsAndResourcesAreAudited(t *testing.T) {
	w := hosttest.New(t, hosttest.Offering("a", "prompts = ['it']\nresources = ['n://']\nsubscribe = true\ncompletions = true", hosttest.TextOf("a")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + w.Dir + "/audit.jsonl'\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/a'\ndeny_resources = ['n://secret/*']"})
	h := w.Open(t, w.Options())
	hosttest.Request(t, h, "resources/subscribe", `{"uri":"n://secret/x"}`)
	hosttest.Request(t, h, "resources/read", `{"uri":"n://secret/x"}`)
	hosttest.Request(t, h, "completion/complete", `{"ref":{"type":"ref/prompt","name":"it"},"argument":{"name":"x","value":"private"}}`)
	var got []string
	for _, line := range requestLines(t, w) {
		var l struct{ Kind, Method, Tool, Outcome, Arguments string }
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		got = append(got, strings.Join([]string{l.Kind, l.Method, l.Tool, l.Outcome}, " "))
		if hashed := l.Arguments != ""; hashed != (l.Kind == "call") || strings.Contains(line, "private") {
			t.Errorf("arguments: %s", line)
		}
	}
	hosttest.WantEqual(t, got, []string{
		"refused resources/subscribe n://secret/x denied",
		"refused resources/read n://secret/x denied",
		"call completion/complete it ok",
	})
}

func TestRefusalsHaveCodes(t *testing.T) {
	offers := func(name string) hosttest.Files {
		return hosttest.Plugin(name, wasmtest.Answering("{}"), "[offers]\nprompts = ['"+name+"_p', '"+name+"_q']\nresources = ['"+name+"://']\nsubscribe = true\ncompletions = true\n"+
			hosttest.Reads(name+"_reads")+hosttest.Writes(name+"_writes"))
	}
	w := hosttest.New(t, offers("a"), offers("b"), hosttest.Offering("c", "prompts = true", "{}"))
	if err := os.Remove(w.Dir + "/plugins/b/it.wasm"); err != nil { // removes the module of plugin b, so that b is left out
		t.Fatal(err)
	}
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + w.Dir + "/audit.jsonl'\non_failure = 'closed'\n" +
		"[[plugins]]\npath = '../plugins/a'\nprefix = 'x_'\ndeny_tools = ['a_writes']\ndeny_prompts = ['a_q']\ndeny_resources = ['a://secret/*']\n" +
		"[[plugins]]\npath = '../plugins/b'\n[[plugins]]\npath = '../plugins/c'\ndeny_prompts = ['hidden', 'a_q', 'b_p']\n"})
	h := w.Open(t, w.Options())
	complete := func(kind, member, name string) string {
		return `{"ref":{"type":"ref/` + kind + `","` + member + `":"` + name + `"},"argument":{"name":"x","value":""}}`
	}
	for _, c := range []struct{ method, params, code, plugin string }{
		{"tools/call", `{"name":"x_a_writes"}`, "not_granted", "a"},
		{"tools/call", `{"name":"a_reads"}`, "unknown", ""},
		{"tools/call", `{"name":"other"}`, "unknown", ""},
		{"tools/call", `{"name":"b_reads"}`, "left_out", "b"},
		{"prompts/get", `{"name":"a_q"}`, "not_granted", "a"},
		{"prompts/get", `{"name":"b_p"}`, "left_out", "b"},
		{"prompts/get", `{"name":"hidden"}`, "not_granted", "c"},
		{"resources/read", `{"uri":"a://secret/x"}`, "not_granted", "a"},
		{"resources/read", `{"uri":"b://x"}`, "left_out", "b"},
		{"resources/read", `{"uri":"d://x"}`, "unknown", ""},
		{"resources/subscribe", `{"uri":"a://secret/x"}`, "not_granted", "a"},
		{"resources/subscribe", `{"uri":"b://x"}`, "left_out", "b"},
		{"resources/subscribe", `{"uri":"d://x"}`, "unknown", ""},
		{"completion/complete", complete("prompt", "name", "a_q"), "not_granted", "a"},
		{"completion/complete", complete("resource", "uri", "b://{+x}"), "left_out", "b"},
		{"completion/complete", complete("tool", "name", "a_reads"), "unknown", ""},
	} {
		if answer := hosttest.Request(t, h, c.method, c.params); !strings.HasPrefix(answer, "error ") {
			t.Errorf("%s %s: the answer is %s", c.method, c.params, answer)
		}
		lines := requestLines(t, w)
		var last struct{ Kind, Method, Outcome, Code, Plugin, Version string }
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
			t.Fatal(err)
		}
		if got := []string{last.Kind, last.Method, last.Outcome, last.Code, last.Plugin}; !slices.Equal(got, []string{"refused", c.method, "denied", c.code, c.plugin}) {
			t.Errorf("%s %s is recorded as %q, want %s of %q", c.method, c.params, got, c.code, c.plugin)
		}
		if (last.Version == "") != (c.plugin == "") {
			t.Errorf("%s %s: the version is %q", c.method, c.params, last.Version)
		}
	}
}

func TestRefusalsOfMethodsAreAudited(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("a", wasmtest.Answering("{}"), "[offers]\nprompts = ['p']\nresources = ['a://']\nsubscribe = true\ncompletions = true\n"+hosttest.Reads("a_reads")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + w.Dir + "/audit.jsonl'\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/a'\n" +
		"deny_prompts = ['*']\ndeny_resources = ['**']\n"})
	h := w.Open(t, w.Options())
	for _, c := range [][2]string{
		{"prompts/get", `{"name":"p"}`}, {"resources/read", `{"uri":"a://x"}`}, {"resources/subscribe", `{"uri":"a://x"}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"x","value":""}}`},
	} {
		if answer := hosttest.Request(t, h, c[0], c[1]); !strings.Contains(answer, "Method not found") {
			t.Errorf("%s: the answer is %s", c[0], answer)
		}
		lines := requestLines(t, w)
		if last := lines[len(lines)-1]; !strings.Contains(last, `"method":"`+c[0]+`"`) || !strings.Contains(last, `"code":"not_granted"`) {
			t.Errorf("%s is recorded as %s", c[0], last)
		}
	}
	hosttest.Request(t, h, "prompts/list", "{}")
	if log, _ := os.ReadFile(w.Dir + "/audit.jsonl"); strings.Contains(string(log), "prompts/list") {
		t.Errorf("a list is recorded: %s", log)
	}
}
