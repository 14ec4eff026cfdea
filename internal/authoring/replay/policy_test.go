package replay_test

import (
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/hosttest"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/replay"
	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// What the config of the log denied is denied again, so that it is no difference.
func TestRunAppliesDeniesOfConfig(t *testing.T) {
	for name, c := range map[string]struct {
		config, recorded string
		withoutConfig    string
	}{
		"a tool":           {"deny_tools = ['a']\n", line("1", "tools/call", "a", "denied", `,"arguments":"{}","code":"not_granted"`), "1 a: denied (not_granted), ok"},
		"all but one tool": {"allow_tools = ['b']\n", line("1", "tools/call", "a", "denied", `,"arguments":"{}","code":"not_granted"`), "1 a: denied (not_granted), ok"},
		"a tool that writes": {"read_only = true\n", line("1", "tools/call", "b", "denied", `,"arguments":"{}","code":"not_granted"`),
			"1 b: denied (not_granted), ok"},
		"a prompt": {"deny_prompts = ['p']\n", line("1", "prompts/get", "p", "denied", `,"code":"not_granted","arguments":"{}"`),
			"1 p: denied (not_granted), ok"},
		"the prefix": {"prefix = 'team_'\n", line("1", "tools/call", "team_a", "ok", `,"arguments":"{}"`), "1 team_a: ok, denied (unknown)"},
	} {
		t.Run(name, func(t *testing.T) {
			w := hosttest.New(t, hosttest.Plugin("it", wasmtest.Answering(answer), hosttest.Reads("a")+hosttest.Writes("b")+"[offers]\nprompts = true\nresources = true\n"),
				hosttest.Files{"work/bulkhead.toml": "[[plugins]]\npath = '../plugins/it'\nsha256 = '" + strings.Repeat("0", 64) + "'\n" + c.config, "work/log": c.recorded})
			m, problems := manifest.Load(w.Dir + "/plugins/it")
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			o := replay.Options{Log: w.Dir + "/work/log", Plugin: m, Compiled: w.Dir + "/cache/bulkhead", Query: audit.Query{Plugins: []string{"it"}}}
			differences := func() string {
				t.Helper()
				report, err := replay.Run(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				var all []string
				for _, d := range report.Differences {
					all = append(all, d.ID+" "+d.Tool+": "+d.Was.String()+", "+d.Now.String())
				}
				return strings.Join(all, "\n")
			}
			if got := differences(); got != c.withoutConfig {
				t.Errorf("without a config: %q, want %q", got, c.withoutConfig)
			}
			var err error
			if o.Policy, err = replay.FindPolicy(w.Options(), m); err != nil || o.Policy == nil {
				t.Fatal(o.Policy, err)
			}
			if got := differences(); got != "" {
				t.Errorf("with the config: %q", got)
			}
		})
	}
}
