package dispatch_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
)

const nothing = `{"error":{"code":-32602,"message":"it is not here"}}`

func TestPromptsCreatedByCallsAreSearchedInOrder(t *testing.T) {
	lacking := func(name string) hosttest.Files {
		return hosttest.Plugin(name, wasmtest.Answering(nothing), "[offers]\nprompts = true\n")
	}
	having := func(name string) hosttest.Files {
		return hosttest.Offering(name, "prompts = true", hosttest.TextOf(name))
	}
	broken := func(name string) hosttest.Files {
		return hosttest.Plugin(name, wasmtest.Crashing(), "[offers]\nprompts = true\n")
	}
	for name, c := range map[string]struct {
		plugins []hosttest.Files
		want    string // a part of the expected response
	}{
		"the first plugin that has the prompt answers":            {[]hosttest.Files{having("a"), having("b")}, `"text":"a"`},
		"a plugin without the prompt is skipped":                  {[]hosttest.Files{lacking("a"), having("b")}, `"text":"b"`},
		"a plugin that fails is skipped":                          {[]hosttest.Files{broken("a"), having("b")}, `"text":"b"`},
		"without an owner, a failure is returned":                 {[]hosttest.Files{broken("a"), lacking("b")}, `"code":"trap","plugin":"a"`},
		"without an owner, the host refuses":                      {[]hosttest.Files{lacking("a"), lacking("b")}, `error {"code":-32602,"message":"Unknown prompt: it"}`},
		"the refusal of the only plugin is returned":              {[]hosttest.Files{lacking("a")}, `error {"code":-32602,"message":"it is not here"}`},
		"only the plugin that claims the name is asked":           {[]hosttest.Files{having("a"), hosttest.Offering("b", "prompts = ['it']", hosttest.TextOf("b"))}, `"text":"b"`},
		"a plugin that claims other names is not asked":           {[]hosttest.Files{hosttest.Offering("a", "prompts = ['other']", hosttest.TextOf("a"))}, `error {"code":-32602,"message":"Unknown prompt: it"}`},
		"a plugin that offers only resources is not asked":        {[]hosttest.Files{having("a"), hosttest.Offering("b", "resources = true", hosttest.TextOf("b"))}, `"text":"a"`},
		"a claimed name that is absent is not searched elsewhere": {[]hosttest.Files{having("a"), hosttest.Plugin("b", wasmtest.Answering(nothing), "[offers]\nprompts = ['it']\n")}, `it is not here`},
	} {
		t.Run(name, func(t *testing.T) {
			got := hosttest.Request(t, hosttest.Open(t, c.plugins...), "prompts/get", `{"name":"it"}`)
			if !strings.Contains(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
