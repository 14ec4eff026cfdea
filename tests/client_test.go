//go:build unix

package tests

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is the timeout for events that must happen; no test sleeps for it.
const patience = 30 * time.Second

// server is a running `bulkhead serve` and its stdio.
type server struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	lines  chan string // lines of stdout; closed at EOF
	log    *logBuffer  // content of stderr
	exited chan struct{}
	lastID int
}

// logBuffer is a buffer that a process writes to while a test reads it.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// programCommand is a command of the built program with its own working directory and environment.
func programCommand(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(built.program(t), args...)
	cmd.Dir, cmd.Env = t.TempDir(), environment(t)
	return cmd
}

// serveChant serves chant alone on a project.
func serveChant(t testing.TB, project string) *server {
	t.Helper()
	return startServer(t, chantCommand(t, project))
}

func chantCommand(t testing.TB, project string) *exec.Cmd {
	t.Helper()
	return programCommand(t, "serve", "--plugins", built.plugins(t), "--plugin", "chant", "--project", project)
}

// startServer starts cmd and kills it at the end of the test. Its stderr goes to the log unless the caller set it.
func startServer(t testing.TB, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, cmd: cmd, lines: make(chan string, 1000), log: &logBuffer{}, exited: make(chan struct{})}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.stdout, cmd.Stdout = out, in
	if cmd.Stderr == nil {
		cmd.Stderr = s.log
	}
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	go func() {
		defer close(s.lines)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if line != "" && !isStartReport(line) {
				s.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	go func() {
		_ = cmd.Wait() // the exit code is in cmd.ProcessState
		close(s.exited)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.exited
		out.Close()
		if t.Failed() {
			t.Logf("log of the server:\n%s", s.log)
		}
	})
	return s
}

func (s *server) send(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// receive returns the next line of stdout.
func (s *server) receive() string {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			s.t.Fatal("stdout ended, want a line")
		}
		whole, ok := strings.CutSuffix(line, "\n")
		if !ok {
			s.t.Errorf("stdout ended within a line: %q", line)
		}
		return whole
	case <-time.After(patience):
		s.t.Fatalf("no line within %s", patience)
	}
	return ""
}

func (s *server) ask(line string) string {
	s.t.Helper()
	s.send(line)
	return s.receive()
}

// sendCall sends a call that asks for progress, and returns its id.
func (s *server) sendCall(tool, arguments string) int {
	s.t.Helper()
	s.lastID++
	s.send(callLine(s.lastID, tool, arguments))
	return s.lastID
}

func callLine(id int, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"progressToken":"token-%d"}}}`, id, tool, arguments, id)
}

// call makes a call and returns its answer, skipping notifications.
func (s *server) call(tool, arguments string) result {
	s.t.Helper()
	id := s.sendCall(tool, arguments)
	got, r := s.nextAnswer()
	if got != id {
		s.t.Fatalf("got the answer to %d, want %d: %+v", got, id, r)
	}
	return r
}

// nextAnswer returns the next answer to a call, skipping notifications.
func (s *server) nextAnswer() (id int, r result) {
	s.t.Helper()
	for id == 0 {
		id, r = s.answer()
	}
	return id, r
}

// answer reads one line with readAnswer.
func (s *server) answer() (id int, r result) {
	s.t.Helper()
	id, r, err := readAnswer(s.receive())
	if err != nil {
		s.t.Fatal(err)
	}
	return id, r
}

// mustCall makes a call that must succeed and returns its text.
func (s *server) mustCall(tool, arguments string) string {
	s.t.Helper()
	r := s.call(tool, arguments)
	if r.IsError || r.Code != 0 {
		s.t.Fatalf("%s: %+v", describeCall(tool, arguments), r)
	}
	return r.Text
}

// describeCall formats a call for a test message, with long arguments cut.
func describeCall(tool, arguments string) string {
	if len(arguments) > 200 {
		arguments = arguments[:200] + "…"
	}
	return tool + " " + arguments
}

// wantToolError makes a call that the plugin must answer with an error whose text contains all strings in what.
func (s *server) wantToolError(tool, arguments string, what ...string) {
	s.t.Helper()
	if r := s.call(tool, arguments); !r.IsError || r.Failure != "" || !containsAll(r.Text, what...) {
		s.t.Errorf("%s: got %+v, want an error of the plugin that contains %q", describeCall(tool, arguments), r, what)
	}
}

// wantFailure makes a call that must end with a host failure of the given code, whose text contains all of what.
func (s *server) wantFailure(tool, arguments, failure string, what ...string) {
	s.t.Helper()
	if r := s.call(tool, arguments); !r.IsError || r.Failure != failure || !containsAll(r.Text, what...) {
		s.t.Errorf("%s: got %+v, want failure %q that contains %q", describeCall(tool, arguments), r, failure, what)
	}
}

// wantUnknown calls a tool that must be unknown.
func (s *server) wantUnknown(tool string, what ...string) {
	s.t.Helper()
	if r := s.call(tool, `{}`); r.Code != -32602 || !containsAll(r.Text, append(what, "Unknown tool: "+tool)...) {
		s.t.Errorf("%s: got %+v, want error -32602 that contains %q", tool, r, what)
	}
}

// waitForLog waits until the log contains all strings in what.
func (s *server) waitForLog(what ...string) {
	s.t.Helper()
	for end := time.Now().Add(patience); !containsAll(s.log.String(), what...); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("the log lacks %q", what)
		}
	}
}

func containsAll(text string, what ...string) bool {
	for _, w := range what {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// exit waits for the process to exit and returns its exit code and the unread lines of stdout.
func (s *server) exit() (code int, rest []string) {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatalf("the process did not exit within %s", patience)
	}
	for line := range s.lines {
		rest = append(rest, line)
	}
	return s.cmd.ProcessState.ExitCode(), rest
}

// kill sends SIGKILL and waits.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.exit()
}

// end closes stdin; the process must exit with 0 and no further output.
func (s *server) end() {
	s.t.Helper()
	if err := s.stdin.Close(); err != nil {
		s.t.Fatal(err)
	}
	if code, rest := s.exit(); code != 0 || len(rest) > 0 {
		s.t.Errorf("exit code %d, further output %q, want 0 and none", code, rest)
	}
}

// names lists the tool names of the server.
func (s *server) names() []string {
	s.t.Helper()
	var m struct {
		Result struct {
			Tools []struct {
				Name string `json:"name"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(s.ask(`{"jsonrpc":"2.0","id":"list","method":"tools/list"}`)), &m); err != nil {
		s.t.Fatal(err)
	}
	names := []string{}
	for _, tool := range m.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}
