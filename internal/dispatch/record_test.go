package dispatch_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/wasmtest"
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

func TestRefusedPromptsAndResourcesAreAudited(t *testing.T) {
	w := hosttest.New(t, hosttest.Offering("a", "prompts = ['it']\nresources = ['n://']\nsubscribe = true\ncompletions = true", hosttest.TextOf("a")))
	w.Write(t, hosttest.Files{"work/bulkhead.toml": "[audit]\nfile = '" + w.Dir + "/audit.jsonl'\non_failure = 'closed'\n[[plugins]]\npath = '../plugins/a'\ndeny_resources = ['n://secret/*']"})
	h := w.Open(t, w.Options())
	hosttest.Request(t, h, "resources/subscribe", `{"uri":"n://secret/x"}`)
	hosttest.Request(t, h, "resources/read", `{"uri":"n://secret/x"}`)
	hosttest.Request(t, h, "completion/complete", `{"ref":{"type":"ref/prompt","name":"it"},"argument":{"name":"x","value":"private"}}`)
	log, err := os.ReadFile(w.Dir + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(log)) {
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
