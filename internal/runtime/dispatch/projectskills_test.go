package dispatch_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestWithdrawnProjectSkillsAreNotRead changes the config between the arrival of a request and its execution.
func TestWithdrawnProjectSkillsAreNotRead(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("plain", wasmtest.Answering(hosttest.Done), hosttest.Reads("plain_reads")), hosttest.Skill("work/skills", "review"))
	configure := func(server, more string) {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 'x'\n" + server + "[[plugins]]\npath = '../plugins/plain'\n" + more})
	}
	for name, c := range map[string]struct{ server, more, want string }{
		"the same":               {"# a comment\nskills = ['${project}/skills']\n", "", ""},
		"no directory":           {"", "", "what the config grants was changed"},
		"another directory":      {"skills = ['${project}/more']\n", "", "what the config grants was changed"},
		"a file that is hidden":  {"skills = ['${project}/skills']\n", "[defaults]\ndeny = ['review']\n", "what the config grants was changed"},
		"another plugin's grant": {"skills = ['${project}/skills']\n", "deny_tools = ['plain_reads']\n", ""},
	} {
		configure("skills = ['${project}/skills']\n", "")
		d := openIn(t, w)
		queued, refused := d.Find(call.Request{Method: abi.MethodResourcesRead, Name: "skill://_project/review/SKILL.md"})
		if refused != nil {
			t.Fatal(refused)
		}
		configure(c.server, c.more)
		found, err := discovery.Find(w.Options())
		if err != nil {
			t.Fatal(err)
		}
		update, err := d.Prepare(catalog.New(found))
		if err != nil {
			t.Fatal(err)
		}
		d.Apply(update)
		result, err := queued.Execute(t.Context(), nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || err == nil && !strings.Contains(string(result.Body), "# review") {
			t.Errorf("%s: got %s, %v, want %q", name, result.Body, err, c.want)
		}
	}
}
