package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/report"
)

func TestCommandPrefix(t *testing.T) {
	for _, test := range []struct{ repo, profile, target, machine, want string }{
		{"", "", "", "", "agentpack"},
		{"", "default", "all", "", "agentpack"},
		{"/r", "work", "codex", "m", "agentpack --repo /r --profile work --target codex --machine m"},
	} {
		if got := report.CommandPrefix(test.repo, test.profile, test.target, test.machine); got != test.want {
			t.Errorf("got %s, want %s", got, test.want)
		}
	}
}

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{
		"prompt:a": "prompt:a", "/home/me/.codex": "/home/me/.codex", "a b": "'a b'", "x; rm y": "'x; rm y'", "it's": `'it'\''s'`,
		"": "''", "$HOME": "'$HOME'", "~/x": "'~/x'", "é": "'é'", "-a": "-a", "a;b": "'a;b'", "a\nb": "'a\nb'",
	} {
		if got := report.ShellQuote(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestSortActions(t *testing.T) {
	got := report.SortActions([]report.Action{
		{"other", "a"}, {"rollback", "r"}, {"evolve_restore", "e"}, {"evolve_propose", "p"}, {"status", "s"}, {"deploy_apply", "d2"}, {"deploy", "d1"},
		{"plan", "p"}, {"diff", "d"}, {"preview_diff", "v1"}, {"preview", "v2"}, {"update", "u"}, {"doctor", "d"}, {"bootstrap", "b2"}, {"bootstrap", "b1"}, {"status", "s"},
	})
	want := []string{"b1", "b2", "d", "u", "v1", "v2", "d", "p", "d1", "d2", "s", "p", "e", "r", "a"}
	if diff := cmp.Diff(want, report.Commands(got)); diff != "" {
		t.Error(diff)
	}
}
