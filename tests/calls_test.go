//go:build unix

package tests

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// startCall sends a call and waits for a progress notification, after which the module is running.
func (s *server) startCall(tool, arguments string) int {
	s.t.Helper()
	id := s.sendCall(tool, arguments)
	if got, r := s.answer(); got != 0 || r.Text != "notifications/progress" {
		s.t.Fatalf("%s: got %d %+v, want progress", tool, got, r)
	}
	return id
}

func TestCallInFlightAtEOFCancelAndDisconnect(t *testing.T) {
	t.Parallel()
	dir := copyPlugins(t, "misbehave")
	t.Run("a call in flight at EOF is answered", func(t *testing.T) {
		t.Parallel()
		s := servePlugins(t, dir)
		id := s.startCall("misbehave_sleep", `{"ms":300}`)
		if err := s.stdin.Close(); err != nil {
			t.Fatal(err)
		}
		if got, r := s.answer(); got != id || r != (result{Text: "awake"}) {
			t.Errorf("%d %+v", got, r)
		}
		if code, rest := s.exit(); code != 0 || len(rest) > 0 {
			t.Errorf("exit code %d, output %q", code, rest)
		}
	})
	t.Run("a cancelled call is stopped and not answered", func(t *testing.T) {
		t.Parallel()
		s := servePlugins(t, dir)
		id := s.startCall("misbehave_sleep", `{"ms":3600000}`)
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		if text := s.mustCall("misbehave_ok", `{}`); text != "ok" {
			t.Error(text)
		}
		s.end() // waits for calls in flight
	})
	t.Run("a closed stdout ends the process", func(t *testing.T) {
		t.Parallel()
		s := servePlugins(t, dir)
		s.sendCall("misbehave_sleep", `{"ms":3600000}`)
		s.startCall("misbehave_sleep", `{"ms":100}`)
		s.stdout.Close()
		if code, _ := s.exit(); code != 3 {
			t.Errorf("exit code %d, want 3", code)
		}
		s.waitForLog("bulkhead: serve: cannot write to the client: ", "broken pipe")
	})
}

func TestFailingModuleLosesOnlyItsCall(t *testing.T) {
	t.Parallel()
	s := servePlugins(t, copyPlugins(t, "misbehave", "hello"))
	checkBoth := func() {
		t.Helper()
		if text := s.mustCall("misbehave_ok", `{}`); text != "ok" {
			t.Error(text)
		}
		if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
			t.Error(text)
		}
	}
	s.wantFailure("misbehave_panic", `{}`, "trap", "bulkhead: misbehave_panic crashed: ")
	s.waitForLog("panic: out of tea")
	checkBoth()
	s.wantFailure("misbehave_exit", `{}`, "exit", "bulkhead: misbehave_exit exited with code 3")
	checkBoth()
	s.wantFailure("misbehave_big", `{"bytes":2000000}`, "output_too_large", "bulkhead: misbehave_big returned a response of ", "its limit is 1048576")
	checkBoth()
	if text := s.mustCall("misbehave_big", `{"bytes":1000000}`); len(text) != 1000000 {
		t.Errorf("got %d bytes", len(text))
	}
	s.wantFailure("misbehave_sleep", `{"ms":"long"}`, "invalid_arguments", "bulkhead: misbehave_sleep was called with arguments that do not match its schema", "ms")
	checkBoth()
	s.end()
}

func TestHangingCallEndsAtTimeLimit(t *testing.T) {
	t.Parallel()
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\nlimits = { time = \"1s\" }\n", filepath.Join(copyPlugins(t, "misbehave"), "misbehave")))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil)))
	s.wantFailure("misbehave_sleep", `{"ms":3600000}`, "timeout", "bulkhead: misbehave_sleep ran past its time limit of 1s")
	s.wantFailure("misbehave_spin", `{}`, "timeout", "bulkhead: misbehave_spin ran past its time limit of 1s")
	if text := s.mustCall("misbehave_ok", `{}`); text != "ok" {
		t.Error(text)
	}
	s.end()
}

// TestHangingCallBlocksNoOtherPlugin makes as many calls that never end as the default concurrency allows.
func TestHangingCallBlocksNoOtherPlugin(t *testing.T) {
	t.Parallel()
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\nlimits = { time = \"2m\" }\n[[plugins]]\npath = %q\n",
		filepath.Join(copyPlugins(t, "misbehave"), "misbehave"), filepath.Join(built.plugins(t), "hello")))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil)))
	for id := 1001; id <= 1008; id++ { // the default concurrency
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"misbehave_spin","arguments":{}}}`, id))
	}
	for range 20 {
		if text := s.mustCall("hello_greet", `{"name":"Ada"}`); text != "Hello, Ada!" {
			t.Error(text)
		}
	}
	for id := 1001; id <= 1008; id++ {
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	}
	if text := s.mustCall("misbehave_ok", `{}`); text != "ok" { // the cancelled calls have released their slots
		t.Error(text)
	}
	s.end()
}

// TestAnswersDoNotWaitForLaterCall sends short calls together with one that never ends. The worker may send the results of
// calls that it receives together at once, but not later than when it runs a long call.
func TestAnswersDoNotWaitForLaterCall(t *testing.T) {
	t.Parallel()
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[[plugins]]\npath = %q\nlimits = { time = \"10m\" }\n", filepath.Join(copyPlugins(t, "misbehave"), "misbehave")))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil)))
	s.mustCall("misbehave_ok", `{}`)
	for endless := 1000; endless < 1010; endless++ {
		var lines []string
		for id := range 4 {
			lines = append(lines, callLine(id+1, "misbehave_ok", `{}`))
		}
		s.send(append(lines, callLine(endless, "misbehave_spin", `{}`))...)
		for range 4 {
			if id, r := s.nextAnswer(); r.Text != "ok" {
				t.Errorf("call %d: %+v", id, r)
			}
		}
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, endless))
	}
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	code, rest := s.exit()
	rest = slices.DeleteFunc(rest, func(line string) bool { return strings.Contains(line, `"notifications/progress"`) }) // of the last call
	if code != 0 || len(rest) > 0 {
		t.Errorf("exit code %d, further output %q, want 0 and no answer", code, rest)
	}
}

// TestReadsRunConcurrently makes four calls, each of which waits for the others. If they ran in sequence, they would hang.
func TestReadsRunConcurrently(t *testing.T) {
	t.Parallel()
	s := servePlugins(t, copyPlugins(t, "misbehave"))
	for range 4 {
		s.sendCall("misbehave_rendezvous", `{"group":"reads","size":4}`)
	}
	for range 4 {
		if id, r := s.answer(); id == 0 || r != (result{Text: "met"}) {
			t.Errorf("%d %+v", id, r)
		}
	}
	s.end()
}

func TestPipelinedWritesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	const name = ".chant/specs/2026-03-01-001-a1b.md"
	project := newDir(t, map[string]string{name: specText("pending", "Water the trees")})
	s := serveChant(t, project)
	var want strings.Builder
	var lines []string
	for i := range 30 {
		lines = append(lines, callLine(i+1, "chant_spec_update", fmt.Sprintf(`{"id":"a1b","output":"line %d"}`, i)))
		fmt.Fprintf(&want, "\n\n## Output\n\nline %d", i)
	}
	lines = append(lines, callLine(31, "chant_spec_get", `{"id":"a1b"}`))
	s.send(lines...)
	if err := s.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	var last result
	for range lines {
		id, r := s.answer()
		if r.IsError || r.Code != 0 {
			t.Errorf("%d: %+v", id, r)
		}
		if id == 31 {
			last = r
		}
	}
	if code, rest := s.exit(); code != 0 || len(rest) > 0 {
		t.Errorf("exit code %d, output %q", code, rest)
	}
	if got := readFile(t, filepath.Join(project, name)); !strings.HasSuffix(strings.TrimSpace(got), "# Water the trees"+want.String()) {
		t.Errorf("the file holds\n%s", got)
	}
	if !strings.Contains(last.Text, "line 29") {
		t.Errorf("the read after the writes did not see them: %s", last.Text)
	}
}
