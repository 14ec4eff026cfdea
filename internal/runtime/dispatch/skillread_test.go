package dispatch_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dispatch"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// TestWithdrawnSkillsAreNotRead changes the config between the arrival of requests and their execution.
func TestWithdrawnSkillsAreNotRead(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("plain", wasmtest.Answering(hosttest.Done), hosttest.Reads("plain_reads")+"[[skills]]\npath = 'own'\n"),
		hosttest.Skill("work/skills", "review"), hosttest.Skill("plugins/plain", "own"))
	configure := func(server, more string) {
		w.Write(t, hosttest.Files{"work/bulkhead.toml": "[server]\nname = 'x'\n" + server + "[[plugins]]\npath = '../plugins/plain'\n" + more})
	}
	const project, plugin = "skill://_project/review/SKILL.md", "skill://plain/own/SKILL.md"
	for name, c := range map[string]struct{ server, more, want string }{
		"the same":              {"# a comment\nskills = ['${project}/skills']\n", "", project + plugin},
		"no directory":          {"", "", plugin},
		"another directory":     {"skills = ['${project}/more']\n", "", plugin},
		"a file that is hidden": {"skills = ['${project}/skills']\n", "[defaults]\ndeny = ['review']\n", ""}, // for the plugin too
		"tools":                 {"skills = ['${project}/skills']\n", "deny_tools = ['plain_reads']\n", project + plugin},
		"the plugin's skill":    {"skills = ['${project}/skills']\n", "deny_resources = ['skill://plain/*']\n", project},
	} {
		configure("skills = ['${project}/skills']\n", "")
		d := openIn(t, w)
		find := func(method, uri string) gateway.Queued {
			queued, refused := d.Find(call.Request{Method: method, Name: uri})
			if refused != nil {
				t.Fatal(refused)
			}
			return queued
		}
		reads := map[string]gateway.Queued{project: find(abi.MethodResourcesRead, project), plugin: find(abi.MethodResourcesRead, plugin)}
		lists := []gateway.Queued{find(call.MethodSkillsList, ""), find(abi.MethodResourcesList, "")}
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
		for uri, queued := range reads {
			result, err := queued.Execute(t.Context(), nil)
			offered := strings.Contains(c.want, uri)
			if (err == nil) != offered || !offered && !strings.Contains(err.Error(), "what the config grants was changed") || offered && !strings.Contains(string(result.Body), "# ") {
				t.Errorf("%s: read %s: got %s, %v", name, uri, result.Body, err)
			}
			for i, list := range lists {
				if result, err := list.Execute(t.Context(), nil); err != nil || strings.Contains(string(result.Body), uri) != offered {
					t.Errorf("%s: list %d with %s %v: %s, %v", name, i, uri, !offered, result.Body, err)
				}
			}
		}
	}
}

// TestLargeSkillFilesKeepTheirTurn checks that a response counts until it is written only if it takes much memory.
func TestLargeSkillFilesKeepTheirTurn(t *testing.T) {
	w := hosttest.New(t, hosttest.Plugin("plain", wasmtest.Answering(hosttest.Done), hosttest.Reads("plain_reads")), hosttest.Skill("work/skills", "review"),
		hosttest.Files{"work/bulkhead.toml": "[server]\nname = 'x'\nskills = ['${project}/skills']\n[[plugins]]\npath = '../plugins/plain'\n",
			"work/skills/review/large": strings.Repeat("x", 64<<10)})
	d := openIn(t, w)
	free := dispatch.FreeSkillReads(d)
	for file, held := range map[string]int{"large": 1, "SKILL.md": 0, "none": 0} {
		queued, refused := d.Find(call.Request{Method: abi.MethodResourcesRead, Name: "skill://_project/review/" + file})
		if refused != nil {
			t.Fatal(refused)
		}
		result, err := queued.Execute(t.Context(), nil)
		if (err == nil) != (file != "none") {
			t.Errorf("%s: %v", file, err)
		}
		if got := free - dispatch.FreeSkillReads(d); got != held {
			t.Errorf("%s: %d turns are held by a response of %d bytes, want %d", file, got, len(result.Body), held)
		}
		queued.(gateway.ResponseWritten).ResponseWritten()
		if got := free - dispatch.FreeSkillReads(d); got != 0 {
			t.Errorf("%s: %d turns are held after the response was written", file, got)
		}
	}
}
