package tools_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// confirmed returns the arguments of deploy_apply with yes = true and the given token.
func confirmed(token string) string { return fmt.Sprintf(`{"yes":true,"confirm_token":%q}`, token) }

func TestConfirmation(t *testing.T) {
	t.Run("deploy returns a token", func(t *testing.T) {
		w := newWorld(t, base())
		before := w.Files()
		var plan, got planData
		w.OK("plan", ``, &plan)
		envelope := w.OK("deploy", ``, &got)
		expires, err := time.Parse(time.RFC3339, got.ExpiresAt)
		if left := expires.Sub(w.Now); err != nil || left <= 0 || left > 10*time.Minute {
			t.Errorf("the token expires at %s, %v from now, %v", got.ExpiresAt, left, err)
		}
		if len(got.Token) < 64 || !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(got.PlanHash) || *got.Applied {
			t.Errorf("got %+v", got)
		}
		if diff := cmp.Diff(plan.Changes, got.Changes); diff != "" || envelope.Command != "deploy" {
			t.Error(diff)
		}
		w.Unchanged(before)
	})
	t.Run("token errors precede errors of the config", func(t *testing.T) {
		w := newWorld(t, nil) // a world without a config repo
		for arguments, code := range map[string]string{
			``: "E_CONFIRM_REQUIRED", `{}`: "E_CONFIRM_REQUIRED", `{"yes":false}`: "E_CONFIRM_REQUIRED", `{"yes":"true"}`: "E_CONFIRM_REQUIRED",
			`{"yes":1}`: "E_CONFIRM_REQUIRED", `{"dry_run":true}`: "E_CONFIRM_REQUIRED", `{"yes":false,"nope":1}`: "E_CONFIRM_REQUIRED",
			`{"yes":true}`: "E_CONFIRM_TOKEN_REQUIRED", `{"yes":true,"confirm_token":""}`: "E_CONFIRM_TOKEN_REQUIRED",
			`{"yes":true,"confirm_token":"bad"}`: "E_CONFIRM_TOKEN_MISMATCH",
		} {
			details := w.Fails("deploy_apply", arguments, code)
			switch {
			case code == "E_CONFIRM_REQUIRED" && details["command"] != "deploy --apply":
				t.Errorf("%s: %v", arguments, details)
			case code != "E_CONFIRM_REQUIRED" && (len(details["next_actions"].([]any)) != 2 || details["hint"] == nil):
				t.Errorf("%s: %v", arguments, details)
			}
		}
	})
	t.Run("without a state directory no token is issued, and a missing one is still reported", func(t *testing.T) {
		w := newWorld(t, base())
		t.Setenv("BULKHEAD_STATE", "")
		w.Fails("deploy_apply", `{"yes":true}`, "E_CONFIRM_TOKEN_REQUIRED")
		w.Fails("deploy_apply", confirmed("t"), "E_UNEXPECTED")
		w.Fails("deploy", ``, "E_UNEXPECTED")
	})
	t.Run("a module changes before deploy_apply", func(t *testing.T) {
		w := newWorld(t, base())
		token := w.Token(``)
		w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
		before := w.Files()
		details := w.Fails("deploy_apply", confirmed(token), "E_CONFIRM_TOKEN_MISMATCH")
		if details["confirm_plan_hash"] == nil || details["expected_confirm_plan_hash"] == nil || details["confirm_plan_hash"] == details["expected_confirm_plan_hash"] {
			t.Error(details)
		}
		w.Unchanged(before)
		w.OK("deploy_apply", confirmed(w.Token(``)), nil)
		if w.Read(promptOut) != "Hello v2\n" {
			t.Error("the file was not written")
		}
	})
	t.Run("a deployed file changes before deploy_apply", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
		token := w.Token(``)
		w.Write(promptOut, "mine")
		w.Fails("deploy_apply", confirmed(token), "E_CONFIRM_TOKEN_MISMATCH")
		if w.Read(promptOut) != "mine" {
			t.Error("the file was overwritten")
		}
	})
	t.Run("a token of other arguments", func(t *testing.T) {
		w := newWorld(t, base())
		token := w.Token(`{"target":"codex"}`)
		for _, more := range []map[string]any{{}, {"target": "codex", "machine": "other"}, {"target": "codex", "repo": w.Repo + "2"}, {"target": "codex", "profile": "x"}} {
			w.Fails("deploy_apply", w.with(confirmed(token), more), "E_CONFIRM_TOKEN_MISMATCH")
		}
		// An absent argument and an argument with the default value are equal.
		w.OK("deploy_apply", w.with(confirmed(token), map[string]any{"target": "codex", "profile": "default", "machine": "test machine", "repo": w.Repo}), nil)
	})
	t.Run("an expired token", func(t *testing.T) {
		w := newWorld(t, base())
		token := w.Token(``)
		w.Now = w.Now.Add(10 * time.Minute)
		for range 2 {
			w.Fails("deploy_apply", confirmed(token), "E_CONFIRM_TOKEN_EXPIRED")
		}
	})
	t.Run("a token that expires while its call waits", func(t *testing.T) {
		w := newWorld(t, base())
		token := w.Token(``)
		w.Host.Handle(abi.OpLock, func(json.RawMessage) (any, error) {
			w.Now = w.Now.Add(10 * time.Minute)
			return nil, nil
		})
		w.Fails("deploy_apply", confirmed(token), "E_CONFIRM_TOKEN_EXPIRED")
	})
	t.Run("a used token", func(t *testing.T) {
		w := newWorld(t, base())
		token := w.Token(``)
		w.OK("deploy_apply", confirmed(token), nil)
		w.Fails("deploy_apply", confirmed(token), "E_CONFIRM_TOKEN_MISMATCH")
		token = w.Token(``)
		w.OK("deploy_apply", confirmed(token), nil) // a call with the result no_changes also uses up the token
		w.Fails("deploy_apply", confirmed(token), "E_CONFIRM_TOKEN_MISMATCH")
	})
	t.Run("a used token is refused even if its plan recurs", func(t *testing.T) {
		w := newWorld(t, base())
		first := w.Deploy(``).SnapshotID
		w.Write(modules("prompt/hello/hello.md"), "Hello v2\n")
		token := w.Token(``)
		w.OK("deploy_apply", confirmed(token), nil)
		w.OK("rollback", `{"yes":true,"to":"`+first+`"}`, nil)
		if got := w.Call("deploy_apply", confirmed(token)); got.OK || !strings.Contains(got.Errors[0].Message, "was already used") {
			t.Errorf("got %+v", got)
		}
		w.OK("deploy_apply", confirmed(w.Token(``)), nil)
	})
	t.Run("a dry run needs no token", func(t *testing.T) {
		w := newWorld(t, base())
		before := w.Files()
		var got planData
		w.OK("deploy_apply", `{"yes":true,"dry_run":true}`, &got)
		if *got.Applied || got.Reason != "" || got.Token != "" || len(got.Changes) != 2 {
			t.Errorf("got %+v", got)
		}
		w.Unchanged(before)
	})
	t.Run("an invalid config", func(t *testing.T) {
		w := newWorld(t, map[string]string{repoFile: "version: ["})
		w.Fails("deploy", ``, "E_CONFIG_INVALID")
	})
	t.Run("a plan that can no longer be computed", func(t *testing.T) {
		w := newWorld(t, base())
		token := w.Token(``)
		w.Write(repoFile, "version: [")
		if details := w.Fails("deploy_apply", confirmed(token), "E_CONFIRM_TOKEN_MISMATCH"); details["expected_confirm_plan_hash"] == nil {
			t.Error(details)
		}
	})
	t.Run("calls that write hold the lock", func(t *testing.T) {
		w := newWorld(t, base())
		w.Deploy(``)
		if diff := cmp.Diff([]string{"agentpack", "agentpack"}, w.Host.Locks()); diff != "" {
			t.Error(diff)
		}
	})
}
