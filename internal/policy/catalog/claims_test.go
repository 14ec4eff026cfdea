package catalog_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func TestDeniedPromptsAndResourcesAreUnknown(t *testing.T) {
	w := hosttest.New(t, hosttest.Offering("a", "prompts = ['it', 'other']\nresources = ['n://']\nsubscribe = true\ncompletions = true", hosttest.TextOf("a")),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\ndeny_prompts = ['it']\ndeny_resources = ['n://secret/*']"})
	h := w.Open(t, w.Options())
	for _, c := range []struct{ method, params, want string }{
		{"prompts/get", `{"name":"it"}`, `error {"code":-32602,"message":"Unknown prompt: it"}`},
		{"prompts/get", `{"name":"other"}`, `{"messages":`},
		{"resources/read", `{"uri":"n://secret/x"}`, `error {"code":-32002,"message":"Resource not found: \"n://secret/x\""}`},
		{"resources/read", `{"uri":"m://x"}`, `error {"code":-32002,"message":"Resource not found: \"m://x\""}`},
		{"resources/read", `{"uri":"n://x"}`, `{"messages":`},
		{"resources/subscribe", `{"uri":"n://secret/x"}`, `error {"code":-32002,`},
		{"resources/subscribe", `{"uri":"n://x"}`, `{}`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"it"},"argument":{"name":"x","value":""}}`, `error {"code":-32602,"message":"Invalid params: unknown reference"}`},
		{"completion/complete", `{"ref":{"type":"ref/resource","uri":"n://{+id}"},"argument":{"name":"x","value":""}}`, `{"messages":`},
		{"completion/complete", `{"ref":{"type":"ref/tool","name":"it"}}`, `error {"code":-32602,"message":"Invalid params: unknown reference"}`},
		{"completion/complete", `{}`, `error {"code":-32602,"message":"Invalid params: unknown reference"}`},
	} {
		if got := hosttest.Request(t, h, c.method, c.params); !strings.HasPrefix(got, c.want) {
			t.Errorf("%s %s: got %s, want %s", c.method, c.params, got, c.want)
		}
	}
}

func TestPartlyAllowedClaimIsKept(t *testing.T) {
	w := hosttest.New(t, hosttest.Offering("a", "resources = ['n://']\nsubscribe = true", hosttest.TextOf("a")), hosttest.Offering("b", "resources = true", hosttest.TextOf("b")),
		hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/a'\nallow_resources = ['n://open/*']\n[[plugins]]\npath = '../plugins/b'\n"})
	h := w.Open(t, w.Options())
	for uri, want := range map[string]string{
		"n://open/x": `{"messages":[{"role":"user","content":{"type":"text","text":"a"}`,
		"n://else/x": `error {"code":-32002,`,
		"m://x":      `{"messages":[{"role":"user","content":{"type":"text","text":"b"}`,
	} {
		if got := hosttest.Request(t, h, "resources/read", fmt.Sprintf(`{"uri":%q}`, uri)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: got %s, want %s", uri, got, want)
		}
	}
	hosttest.WantEqual(t, h.Plugins()[0].Resources, []string{"n://"})
}

func TestPluginLearnsClaimsOfOthers(t *testing.T) {
	ask := wasmtest.Operating(`{"op":"claims","params":{"prompts":["x","y"],"resources":["n://a","m://a"]}}`, hosttest.Done)
	w := hosttest.New(t, hosttest.Plugin("a", ask, "[offers]\nprompts = ['y']\nresources = true\n"+hosttest.Reads("a_reads")), hosttest.Offering("b", "prompts = ['x']\nresources = ['n://']", "{}"))
	h := w.Open(t, w.Options())
	c, err := catalog.Look(w.Options())
	if err != nil {
		t.Fatal(err)
	}
	got := c.ClaimedByOthers(c.Plugins[0], abi.Claims{Prompts: []string{"x", "y", "z"}, Resources: []string{"n://a", "m://a"}})
	hosttest.WantEqual(t, got, abi.Claims{Prompts: []string{"x"}, Resources: []string{"n://a"}})
	if answer := hosttest.Call(t, h, "a_reads", ""); answer.Failure != "" || answer.Error != nil {
		t.Errorf("the call with the operation failed: %+v", answer)
	}
}
