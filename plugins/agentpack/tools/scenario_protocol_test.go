package tools_test

import (
	"strings"
	"testing"
)

// TestArguments calls tools with invalid arguments. The method Call also checks that the text and the structured
// content of the result are the same envelope.
func TestArguments(t *testing.T) {
	w := newWorld(t, base())
	for _, test := range []struct{ tool, arguments, says string }{
		{"plan", `{"nope":1}`, `no argument "nope"`},
		{"plan", `{"yes":true}`, `no argument "yes"`},
		{"doctor", `{"profile":"default"}`, `no argument "profile"`},
		{"plan", `{"repo":5}`, "argument repo: expected a string, got 5"},
		{"plan", `{"machine":["a"]}`, "argument machine"},
		{"plan", `{"repo":"a\u0000b"}`, "NUL byte"},
		{"plan", `{"repo":"` + strings.Repeat("a", 5000) + `"}`, "longer than"},
		{"plan", `{"dry_run":"true"}`, "argument dry_run: expected true or false"},
		{"preview", `{"diff":1}`, "argument diff"},
		{"status", `{"only":"missing"}`, "argument only: expected a list"},
		{"status", `{"only":["gone"]}`, "expected missing, modified or extra"},
		{"status", `{"only":[1]}`, "argument only"},
		{"status", `{"only":5}`, "argument only"},
		{"explain", `{"kind":null}`, "argument kind is missing"},
		{"plan", `{"kind":null}`, "there is no argument"},
		{"explain", `{}`, "argument kind is missing"},
		{"explain", `{"kind":"x"}`, "expected one of plan, diff, status"},
		{"rollback", `{"yes":true}`, "argument to is missing"},
		{"rollback", `{"yes":true,"to":5}`, "argument to"},
		{"deploy_apply", `{"yes":true,"adopt":"yes"}`, "argument adopt"},
		{"deploy_apply", `{"yes":true,"confirm_token":5}`, "argument confirm_token"},
		{"evolve_propose", `{"dry_run":true,"scope":"user"}`, "argument scope"},
		{"evolve_restore", `{"yes":true,"branch":"b"}`, `no argument "branch"`},
		{"plan", `[]`, "not an object"},
		{"plan", `"x"`, "not an object"},
	} {
		got := w.Call(test.tool, test.arguments)
		if got.OK || got.Errors[0].Code != "E_UNEXPECTED" || !strings.Contains(got.Errors[0].Message, test.says) {
			t.Errorf("%s %.80s: got %+v, want %q", test.tool, test.arguments, got.Errors, test.says)
		}
	}
	for _, arguments := range []string{``, `{}`, `null`, `{"dry_run":true}`, `{"repo":"` + w.Repo + `","profile":"default","target":"all","machine":"m","dry_run":false}`, `{"repo":null,"profile":null,"target":null,"machine":null,"dry_run":null}`} {
		w.OK("plan", arguments, nil)
	}
}

func TestOnlyTrueIsApproval(t *testing.T) {
	w := newWorld(t, base())
	for _, tool := range []string{"deploy_apply", "rollback", "evolve_propose", "evolve_restore"} {
		for _, yes := range []string{`false`, `"true"`, `1`, `null`, `[true]`, `{}`} {
			w.Fails(tool, `{"yes":`+yes+`}`, "E_CONFIRM_REQUIRED")
		}
		w.Fails(tool, ``, "E_CONFIRM_REQUIRED")
	}
}

func TestReadingToolsWriteNothing(t *testing.T) {
	w := newWorld(t, base())
	w.Deploy(``)
	w.Write(promptOut, "edited")
	w.Remove(instructionsOut)
	before := w.Files()
	for _, call := range [][2]string{
		{"plan", ``}, {"diff", ``}, {"preview", `{"diff":true}`}, {"status", ``}, {"doctor", ``}, {"deploy", ``},
		{"explain", `{"kind":"plan"}`}, {"explain", `{"kind":"status"}`}, {"evolve_propose", `{"dry_run":true}`}, {"evolve_restore", `{"dry_run":true}`},
	} {
		w.OK(call[0], call[1], nil)
		w.Unchanged(before)
	}
}

func TestHomeIsRequired(t *testing.T) {
	w := newWorld(t, base())
	t.Setenv("HOME", "")
	got := w.Call("plan", ``)
	if got.OK || !strings.Contains(got.Errors[0].Message, "grant the variable HOME") {
		t.Errorf("got %+v", got)
	}
	t.Setenv("USERPROFILE", w.Home)
	w.OK("plan", ``, nil)
}
