package token_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/token"
)

var (
	start   = time.Date(2026, 2, 1, 9, 0, 0, 0, time.UTC)
	binding = token.Binding{Profile: "default", Repo: "/h/.agentpack/repo", Target: "codex", Machine: "laptop"}
)

const (
	onePlan     = "3c8c71e4120a7e0bde4f70146a3d7e3df46d87b622ade513b848db2235472a2f"
	anotherPlan = "9fd1eb37000000000000000000000000000000000000000000000000000000ff"
)

func newStore(t testing.TB) token.Store {
	return token.Store{Dir: t.TempDir(), Private: func(path string) error { return os.Chmod(path, 0o600) }}
}

func issue(t testing.TB, store token.Store, at time.Time) string {
	t.Helper()
	issued, err := store.Issue(binding, onePlan, at)
	if err != nil {
		t.Fatal(err)
	}
	return issued.Token
}

func codeOf(err error) fault.Code {
	if err == nil {
		return "ok"
	}
	return fault.Of(err).Code
}

func TestTokenExpiresAfterTenMinutes(t *testing.T) {
	store := newStore(t)
	issued, err := store.Issue(binding, onePlan, start)
	if err != nil {
		t.Fatal(err)
	}
	if want := start.Add(10 * time.Minute); !issued.Expires.Equal(want) {
		t.Errorf("the token expires at %v, want %v", issued.Expires, want)
	}
	cases := []struct {
		name string
		at   time.Duration
		want fault.Code
	}{
		{"immediately", 0, "ok"},
		{"one millisecond before expiry", 10*time.Minute - time.Millisecond, "ok"},
		{"at expiry", 10 * time.Minute, fault.ConfirmTokenExpired},
		{"expired", 11 * time.Minute, fault.ConfirmTokenExpired},
		{"expired, second check", 11 * time.Minute, fault.ConfirmTokenExpired},
		{"long after expiry", 1000 * time.Hour, fault.ConfirmTokenExpired},
		{"if the clock was set back", -time.Hour, fault.ConfirmTokenExpired},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			claim, err := store.Check(issued.Token, binding, start.Add(test.at))
			if codeOf(err) != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if err == nil && (claim.PlanHash() != onePlan || claim.Matches(onePlan) != nil) {
				t.Errorf("the token is bound to the plan %s", claim.PlanHash())
			}
		})
	}
}

func TestTokenIsUsedOnce(t *testing.T) {
	store := newStore(t)
	first, second := issue(t, store, start), issue(t, store, start)
	if first == second {
		t.Fatal("two tokens are equal")
	}
	claim, err := store.Check(first, binding, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Use(claim, start); err != nil {
		t.Fatal(err)
	}
	again := token.Store{Dir: store.Dir} // a second Store with the same directory, as in another instance or server
	if _, err := again.Check(first, binding, start); codeOf(err) != fault.ConfirmTokenMismatch {
		t.Errorf("Check of a used token: %v", err)
	}
	if _, err := again.Check(second, binding, start); err != nil {
		t.Errorf("Check of an unused token: %v", err)
	}
	later := start.Add(token.Lifetime)
	if _, err := again.Check(first, binding, later); codeOf(err) != fault.ConfirmTokenExpired {
		t.Errorf("Check of a used token after its expiry: %v", err)
	}
}

func TestDroppedTokenStaysInvalidWhenClockIsSetBack(t *testing.T) {
	store := newStore(t)
	old := issue(t, store, start)
	claim, err := store.Check(old, binding, start)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Use(claim, start); err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Hour)
	newer, err := store.Check(issue(t, store, later), binding, later)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Use(newer, later); err != nil { // this Use drops the expired token old from the list
		t.Fatal(err)
	}
	if _, err := store.Check(old, binding, start); codeOf(err) != fault.ConfirmTokenExpired {
		t.Errorf("got %v", err)
	}
}

func TestUsedTokensAreBounded(t *testing.T) {
	store := newStore(t)
	first := issue(t, store, start)
	var full []string
	for i := range 1000 {
		full = append(full, fmt.Sprintf(`{"id":"%032x","expires":%d}`, i, start.Add(token.Lifetime).UnixMilli()+int64(i/2)))
	}
	file := filepath.Join(store.Dir, "confirm-used.json")
	if err := os.WriteFile(file, []byte(`{"version":1,"tokens":[`+strings.Join(full, ",")+`]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Second)
	claim, err := store.Check(issue(t, store, later), binding, later)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Use(claim, later); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(raw), `"id"`); n != 1000 {
		t.Errorf("the list has %d tokens, want 1000", n)
	}
	if _, err := store.Check(first, binding, later); codeOf(err) != fault.ConfirmTokenExpired {
		t.Errorf("Check of a token with the expiry of a dropped token: %v", err)
	}
}

func TestCheckRefuses(t *testing.T) {
	store := newStore(t)
	good := issue(t, store, start)
	cases := []struct {
		name, token string
		binding     token.Binding
		want        fault.Code
	}{
		{"51 none", "", binding, fault.ConfirmTokenRequired},
		{"forged", "bad", binding, fault.ConfirmTokenMismatch},
		{"of the right length", strings.Repeat("A", len(good)), binding, fault.ConfirmTokenMismatch},
		{"of another key", issue(t, newStore(t), start), binding, fault.ConfirmTokenMismatch},
		{"with a line break", good + "\n", binding, fault.ConfirmTokenMismatch},
		{"with line breaks for half of it", strings.Repeat("\n", 80) + good[80:], binding, fault.ConfirmTokenMismatch},
		{"of nothing but line breaks", strings.Repeat("\r\n", len(good)/2), binding, fault.ConfirmTokenMismatch},
		{"for another target", good, token.Binding{Profile: "default", Repo: binding.Repo, Target: "all", Machine: "laptop"}, fault.ConfirmTokenMismatch},
		{"for another repo", good, token.Binding{Profile: "default", Repo: "/other", Target: "codex", Machine: "laptop"}, fault.ConfirmTokenMismatch},
		{"for another machine", good, token.Binding{Profile: "default", Repo: binding.Repo, Target: "codex"}, fault.ConfirmTokenMismatch},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			_, err := store.Check(test.token, test.binding, start)
			if codeOf(err) != test.want {
				t.Fatalf("got %v, want %s", err, test.want)
			}
			details := fault.Of(err).Details
			if details["hint"] == nil || details["reason_code"] == nil || len(details["next_actions"].([]string)) != 2 {
				t.Errorf("the fault has the details %v", details)
			}
		})
	}
}

func TestCheckRefusesEveryChangedCharacter(t *testing.T) {
	store := newStore(t)
	good := issue(t, store, start)
	for i := range good {
		forged := []byte(good)
		forged[i] = map[bool]byte{true: 'B', false: 'A'}[good[i] == 'A']
		if _, err := store.Check(string(forged), binding, start); codeOf(err) != fault.ConfirmTokenMismatch {
			t.Errorf("Check of a token whose character %d was changed: %v", i, err)
		}
	}
}

func TestMatchesReportsBothHashes(t *testing.T) {
	store := newStore(t)
	claim, err := store.Check(issue(t, store, start), binding, start)
	if err != nil {
		t.Fatal(err)
	}
	err = claim.Matches(anotherPlan)
	if codeOf(err) != fault.ConfirmTokenMismatch {
		t.Fatal(err)
	}
	details := fault.Of(err).Details
	if details["confirm_plan_hash"] != anotherPlan || details["expected_confirm_plan_hash"] != onePlan {
		t.Errorf("the details %v", details)
	}
}

func TestKeyIsPrivateAndCreatedOnce(t *testing.T) {
	store := newStore(t)
	issue(t, store, start)
	file := filepath.Join(store.Dir, "confirm-key")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the key has the mode %v, %v", info.Mode(), err)
	}
	issue(t, store, start)
	if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
		t.Errorf("the second call changed the key, %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(store.Dir, "*.tmp")); err != nil || len(left) > 0 {
		t.Errorf("files are left behind: %v, %v", left, err)
	}
}

func TestIssueFailsIfKeyCannotBeMadePrivate(t *testing.T) {
	store := token.Store{Dir: t.TempDir(), Private: func(string) error { return fs.ErrPermission }}
	if _, err := store.Issue(binding, onePlan, start); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(store.Dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCheckRefusesDamagedState(t *testing.T) {
	cases := []struct{ name, file, content, want string }{
		{"a key that is too short", "confirm-key", "x", "confirm-key is damaged"},
		{"a key that is too long", "confirm-key", strings.Repeat("x", 33), "confirm-key is damaged"},
		{"a list that is no JSON", "confirm-used.json", "{", "remove the list together with confirm-key"},
		{"a list of another version", "confirm-used.json", `{"version":2}`, "version 2 is not supported"},
		{"a list without end", "confirm-used.json", strings.Repeat(" ", 2<<20), "larger than"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			store := newStore(t)
			good := issue(t, store, start)
			if err := os.WriteFile(filepath.Join(store.Dir, test.file), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Check(good, binding, start); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want …%s…", err, test.want)
			}
		})
	}
}

func TestPlanHash(t *testing.T) {
	data := func(profile string) map[string]any {
		return map[string]any{
			"applied": false, "changes": []any{}, "profile": profile,
			"summary": map[string]int{"create": 0, "update": 0, "delete": 0}, "targets": []string{"codex"},
		}
	}
	cases := []struct {
		name    string
		binding token.Binding
		data    any
		want    string
	}{
		{"the recorded vector", token.Binding{}, data("default"), onePlan},
		{"with an argument", binding, data("default"), ""},
		{"with another profile", token.Binding{}, data("other"), ""},
		{"with text that JSON writes in several ways", token.Binding{}, data("<é\u2028\x7f\"\\\b\x01>"), "2e34f4dcfe16b07c6a7d0eb175e745083faa7322603aaaf82d0af3abfd212042"},
		{"with a backslash before u2028", token.Binding{}, data(`\u2028\\u2029` + "\\\u2029"), "6e2eafbba1f313dd0a92c7e908f68861c6b9dd01ef6915311ee619d1fe8c33cc"},
	}
	seen := map[string]string{}
	for _, test := range cases {
		got, err := token.PlanHash(test.binding, test.data)
		if err != nil || test.want != "" && got != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.name, got, err, test.want)
		}
		if other, ok := seen[got]; ok {
			t.Errorf("%s has the hash of %s", test.name, other)
		}
		seen[got] = test.name
	}
}

func FuzzCheck(f *testing.F) {
	store := newStore(f)
	good := issue(f, store, start)
	f.Add(good)
	f.Add("")
	f.Add(good[1:] + "A")
	f.Add(strings.Repeat("\n", 60) + good[60:])
	f.Fuzz(func(t *testing.T, text string) {
		_, err := store.Check(text, binding, start)
		if (err == nil) != (text == good) {
			t.Errorf("%q: %v", text, err)
		}
	})
}

func FuzzUsedList(f *testing.F) {
	f.Add([]byte(`{"version":1,"floor":5,"tokens":[{"id":"00","expires":9}]}`))
	f.Add([]byte(`{"version":1,"tokens":null}`))
	f.Add([]byte(`[]`))
	store := newStore(f)
	good := issue(f, store, start)
	file := filepath.Join(store.Dir, "confirm-used.json")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if err := os.WriteFile(file, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		claim, err := store.Check(good, binding, start)
		if err != nil {
			return // Check may refuse the token: the list is invalid, contains the token, or has a floor above the expiry
		}
		if err := store.Use(claim, start); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Check(good, binding, start); err == nil {
			t.Errorf("with the list %q, a used token is valid", raw)
		}
	})
}

// TestPlanHashOfSample compares PlanHash with the recorded hash of the plan in the sample data. It is skipped without
// the sample data.
func TestPlanHashOfSample(t *testing.T) {
	dir := testenv.Fixture(t, "agentpack", "composed", "expected")
	read := func(name string, into any) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil {
			err = json.Unmarshal(raw, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var want struct {
		Hash string `json:"confirm_plan_hash"`
	}
	var data map[string]any
	read("confirm_plan_hash.json", &want)
	read("plan_default_all_fresh.json", &data)
	data["applied"] = false
	if got, err := token.PlanHash(token.Binding{}, data); err != nil || got != want.Hash {
		t.Errorf("got %s, %v, want %s", got, err, want.Hash)
	}
}
