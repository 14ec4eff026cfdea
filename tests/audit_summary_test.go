//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestAuditSummary calls tools, and finds them in the numbers of the log, which a second server adds to, and on the page of `bulkhead ui`. Those that were
// granted and never called are unused.
func TestAuditSummary(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	state := "XDG_STATE_HOME=" + t.TempDir()
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[audit]\nfile = %q\n[[plugins]]\npath = %q\n[[plugins]]\npath = %q\ndeny_tools = [\"*_spin\"]\n", file,
		filepath.Join(built.plugins(t), "hello"), filepath.Join(copyPlugins(t, "misbehave"), "misbehave")))
	type numbers struct {
		Calls, Errors, Refused int64
		P50                    int64 `json:"p50_us"`
		BytesOut               int64 `json:"bytes_out"`
		Fuel                   uint64
	}
	type summary struct {
		Total numbers
		Tools []struct {
			Tool string
			numbers
		}
		Clients []struct{ Client string }
		Refused []struct{ Tool, Code, Example string }
		Unused  struct{ Tools []struct{ Tool string } }
	}
	summarize := func(args ...string) summary {
		t.Helper()
		cmd := programCommand(t, append([]string{"audit", "--summary", "--json", "--config", config}, args...)...)
		cmd.Env = append(cmd.Env, state)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		var s summary
		if err != nil || json.Unmarshal(out, &s) != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return s
	}
	if s := summarize(); s.Total.Calls != 0 {
		t.Errorf("before the first call: %+v", s)
	}
	for round := range int64(2) {
		cmd := programCommand(t, "serve", "--config", config, "--project", newDir(t, nil))
		cmd.Env = append(cmd.Env, state)
		s := startServer(t, cmd)
		s.ask(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"editor","version":"7"}}}`)
		s.mustCall("hello_greet", `{"name":"x"}`)
		s.mustCall("hello_greet", `{"name":"y"}`)
		s.wantUnknown("hello_delete")
		s.wantUnknown("misbehave_spin")
		s.wantFailure("misbehave_exit", `{}`, "exit")
		s.end()

		got := summarize()
		n := round + 1
		if got.Total.Calls != 3*n || got.Total.Errors != n || got.Total.Refused != 2*n || len(got.Clients) != 1 || got.Clients[0].Client != "editor/7" {
			t.Fatalf("round %d: %+v", round, got)
		}
		if top := got.Tools[0]; top.Tool != "hello_greet" || top.Calls != 2*n || top.P50 == 0 || top.Fuel == 0 || top.BytesOut == 0 {
			t.Errorf("round %d: %+v", round, top)
		}
		for _, want := range []struct{ Tool, Code, Example string }{{"misbehave_spin", "not_granted", ""}, {"", "unknown", "hello_delete"}} {
			if !slices.Contains(got.Refused, want) {
				t.Errorf("round %d: %+v is not in %+v", round, want, got.Refused)
			}
		}
		unused := fmt.Sprint(got.Unused.Tools)
		for name, want := range map[string]bool{"hello_greet": false, "misbehave_exit": false, "misbehave_spin": false, "misbehave_ok": true} {
			if strings.Contains(unused, name) != want {
				t.Errorf("round %d: %s is unused: %t", round, name, !want)
			}
		}
	}
	pages, link := startUI(t, newDir(t, nil), append(environment(t), state), "--config", config)
	pages.open(link)
	for path, want := range map[string][]string{"/history": {"hello_greet", "misbehave_spin", "not_granted", "<svg ", "editor/7"}, "/history?tool=hello_greet&range=day": {">4</td>", "Nothing was refused"}} {
		status, body := pages.get(pages.base + path)
		for _, w := range want {
			if status != 200 || !strings.Contains(body, w) {
				t.Errorf("%s lacks %q: %d %s", path, w, status, body)
			}
		}
	}
	if got := summarize("--tool", "misbehave_*"); got.Total.Calls != 2 || got.Total.Refused != 2 {
		t.Errorf("of one plugin: %+v", got.Total)
	}
	if got := summarize("--client", "other*"); got.Total.Calls != 0 {
		t.Errorf("of another client: %+v", got.Total)
	}
}
