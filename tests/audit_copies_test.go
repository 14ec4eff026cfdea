//go:build linux

package tests

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startJournald starts systemd's journald with an empty directory as its /run and /var/log, and returns that directory. entries returns the fields of
// the entries of the audit log.
func startJournald(t *testing.T) (run string, pid int, entries func() []map[string]any) {
	t.Helper()
	const daemon = "/lib/systemd/systemd-journald"
	for _, program := range []string{daemon, "/usr/bin/journalctl", "/usr/bin/unshare", "/usr/bin/nsenter"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("%s is not installed (Debian: systemd, util-linux)", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("journald is started by root only")
	}
	run = newDir(t, map[string]string{"run/systemd/journal/x": "", "run/log/journal/x": "", "log/x": ""})
	cmd := exec.Command("unshare", "--mount", "sh", "-c", `mount --bind "$1/log" /var/log && mount --bind "$1/run" /run && exec `+daemon, "sh", run)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for i := 0; ; i++ {
		conn, err := net.Dial("unixgram", filepath.Join(run, "run/systemd/journal/socket"))
		if err == nil {
			conn.Close()
			break
		}
		if i == 3000 {
			t.Fatalf("journald does not listen: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return run, cmd.Process.Pid, func() []map[string]any {
		t.Helper()
		out, err := exec.Command("journalctl", "--directory", filepath.Join(run, "run/log/journal"), "--output=json", "--no-pager", "--all", "SYSLOG_IDENTIFIER=bulkhead-audit").Output()
		if err != nil {
			t.Fatal(err)
		}
		var all []map[string]any
		for line := range strings.Lines(string(out)) {
			one := map[string]any{}
			if err := json.Unmarshal([]byte(line), &one); err != nil {
				t.Fatalf("%v: %s", err, line)
			}
			all = append(all, one)
		}
		return all
	}
}

// TestJournaldKeepsAuditRecords serves with copies in a journald of its own, both by its native protocol and by /dev/log, deletes the log's file, and
// finds all records in the journal, whose integrity journalctl verifies.
func TestJournaldKeepsAuditRecords(t *testing.T) {
	t.Parallel()
	run, pid, entries := startJournald(t)
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[audit]\nfile = %q\narguments = \"full\"\nalso = [\"journald\"]\n[[plugins]]\npath = %q\n", file, filepath.Join(built.plugins(t), "hello")))
	serve := programCommand(t, "serve", "--config", config, "--project", newDir(t, nil))
	inside := exec.Command("nsenter", append([]string{"--target", fmt.Sprint(pid), "--mount", "--wdns=" + serve.Dir, serve.Path}, serve.Args[1:]...)...)
	inside.Env = serve.Env
	s := startServer(t, inside)
	s.mustCall("hello_greet", `{"name":"Ann"}`)
	if r := s.call("forged\nPRIORITY=0\nMESSAGE=x", `{}`); r.Code != -32602 {
		t.Errorf("an unknown tool: %+v", r)
	}
	s.mustCall("hello_greet", fmt.Sprintf(`{"name":%q}`, strings.Repeat("long", 5000)))
	s.end()
	lines := strings.Split(strings.TrimSpace(readFile(t, file)), "\n")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for range 1000 { // journald reads its socket when it likes
		if all = entries(); len(all) >= len(lines) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	var kinds, messages []string
	for _, e := range all {
		message, _ := e["MESSAGE"].(string)
		messages = append(messages, message)
		kinds = append(kinds, fmt.Sprintf("%v %v %v", e["BULKHEAD_KIND"], e["BULKHEAD_TOOL"], e["PRIORITY"]))
		if comm := e["_COMM"]; comm != "bulkhead" {
			t.Errorf("the journal names %v as the sender", comm)
		}
	}
	if !slices.Equal(messages, lines) {
		t.Errorf("the journal has\n%s\nwant\n%s", strings.Join(messages, "\n"), strings.Join(lines, "\n"))
	}
	want := []string{"server <nil> 6", "call hello_greet 6", "refused forged PRIORITY=0 MESSAGE=x 5", "call hello_greet 6", "server <nil> 6"}
	if !slices.Equal(kinds, want) {
		t.Errorf("got  %q\nwant %q", kinds, want)
	}
	if out, err := exec.Command("journalctl", "--directory", filepath.Join(run, "run/log/journal"), "--verify").CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("verify: %v: %s", err, out)
	}
}

// TestStdoutHasAuditRecordsOverHTTPOnly serves over HTTP with a copy on stdout, and over stdio, where stdout has the messages.
func TestStdoutHasAuditRecordsOverHTTPOnly(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "audit.jsonl")
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[audit]\nfile = %q\nalso = [\"stdout\"]\n[[plugins]]\npath = %q\n", file, filepath.Join(built.plugins(t), "hello")))
	over := programCommand(t, "serve", "--config", config, "--project", newDir(t, nil))
	out, err := over.CombinedOutput()
	if want := config + `:2: audit.also: stdout has the messages of MCP: remove "stdout", or serve with --http`; err == nil || over.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), want) {
		t.Errorf("over stdio: %v: %s", err, out)
	}
	if out, err := programCommand(t, "call", "--config", config, "--project", newDir(t, nil), "hello_greet", `{"name":"Ann"}`).Output(); err != nil || string(out) != "Hello, Ann!\n" {
		t.Errorf("call: %v: %s", err, out)
	}
	before := readFile(t, file)
	serve := programCommand(t, "serve", "--config", config, "--project", newDir(t, nil), "--http", "127.0.0.1:0")
	records, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	url := serveHTTP(t, serve)
	if code, body := modernCall(t, url, "hello_greet", `{"name":"Ann"}`); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	signal(t, serve, syscall.SIGTERM)
	var got strings.Builder
	for lines := bufio.NewScanner(records); lines.Scan(); {
		got.WriteString(lines.Text() + "\n")
	}
	if want := strings.TrimPrefix(readFile(t, file), before); got.String() != want || strings.Count(want, "\n") != 3 {
		t.Errorf("stdout has\n%swant\n%s", got.String(), want)
	}
}

// TestCommandsShareAuditLogWithServer makes and revokes tokens while a server writes to the same log, which it rotates.
func TestCommandsShareAuditLogWithServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, config := filepath.Join(dir, "audit.jsonl"), filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[audit]\nfile = %q\nmax_size = \"64KiB\"\nkeep = 1000\narguments = \"full\"\non_failure = \"closed\"\n[[plugins]]\npath = %q\n", file, filepath.Join(built.plugins(t), "hello")))
	s := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil)))
	env := environment(t)
	const rounds = 8
	done := make(chan error, 1)
	go func() {
		for i := range 2 * rounds {
			cmd := exec.Command(s.cmd.Path, "token", []string{"new", "revoke"}[i%2], "ann", "--config", config)
			cmd.Dir, cmd.Env = dir, env
			if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "warning") {
				done <- fmt.Errorf("%v: %s", err, out)
				return
			}
		}
		done <- nil
	}()
	calls := 0
	for running := true; running; calls++ {
		s.mustCall("hello_greet", fmt.Sprintf(`{"name":%q}`, strings.Repeat("long", 1000)))
		select {
		case err := <-done:
			if running = false; err != nil {
				t.Error(err)
			}
		default:
		}
	}
	s.end()
	out, err := programCommand(t, "audit", "--file", file, "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(out)) {
		var e struct{ Kind, Method string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		count[e.Kind+" "+e.Method]++
	}
	want := map[string]int{"server start": 1, "server end": 1, "call tools/call": calls, "tokens new": rounds, "tokens revoke": rounds}
	if len(count) != len(want) {
		t.Errorf("%v", count)
	}
	for what, n := range want {
		if count[what] != n {
			t.Errorf("%s: %d records, want %d", what, count[what], n)
		}
	}
}
