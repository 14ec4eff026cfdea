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

// patience is how long a test waits for something that has to happen. It is never waited for otherwise.
const patience = 30 * time.Second

// server is a running `bulkhead serve` that a test speaks to in lines.
type server struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *os.File
	lines  chan string // of stdout, closed at its end
	log    *logBuffer  // stderr
	exited chan struct{}
	lastID int
}

// logBuffer keeps what a process writes while a test reads it.
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

// programCommand is the built program with arguments, in a folder and an environment of the test's own.
func programCommand(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(built.program, args...)
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
	return programCommand(t, "serve", "--plugins", built.plugins, "--plugin", "chant", "--project", project)
}

// startServer runs cmd until the test ends at the latest. Its stderr goes to the log, unless it is set.
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
			if line != "" {
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

// send sends lines.
func (s *server) send(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.stdin, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatal(err)
	}
}

// receive returns the next line, which has to be whole.
func (s *server) receive() string {
	s.t.Helper()
	select {
	case line, ok := <-s.lines:
		if !ok {
			s.t.Fatal("the output ended, and a line was owed")
		}
		whole, ok := strings.CutSuffix(line, "\n")
		if !ok {
			s.t.Errorf("the output ended within a line: %q", line)
		}
		return whole
	case <-time.After(patience):
		s.t.Fatalf("no line came within %s", patience)
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

// call makes a call and returns its answer; its notifications are dropped.
func (s *server) call(tool, arguments string) result {
	s.t.Helper()
	id := s.sendCall(tool, arguments)
	got, r := s.nextAnswer()
	if got != id {
		s.t.Fatalf("the answer to %d came, and %d was waited for: %+v", got, id, r)
	}
	return r
}

// answerOwed is the next answer to a call; notifications before it are dropped.
func (s *server) nextAnswer() (id int, r result) {
	s.t.Helper()
	for id == 0 {
		id, r = s.answer()
	}
	return id, r
}

// answer reads one line: the answer to a call, or with the id 0 a notification, whose method is Text.
func (s *server) answer() (id int, r result) {
	s.t.Helper()
	id, r, err := readAnswer(s.receive())
	if err != nil {
		s.t.Fatal(err)
	}
	return id, r
}

// succeed makes a call that must not fail and returns its text.
func (s *server) mustCall(tool, arguments string) string {
	s.t.Helper()
	r := s.call(tool, arguments)
	if r.IsError || r.Code != 0 {
		s.t.Fatalf("%s: %+v", describeCall(tool, arguments), r)
	}
	return r.Text
}

// shown is a call for a message of a test's, which arguments may be too long for.
func describeCall(tool, arguments string) string {
	if len(arguments) > 200 {
		arguments = arguments[:200] + "…"
	}
	return tool + " " + arguments
}

// refuse makes a call that the plugin must answer with an error that says all of what.
func (s *server) wantToolError(tool, arguments string, what ...string) {
	s.t.Helper()
	if r := s.call(tool, arguments); !r.IsError || r.Failure != "" || !containsAll(r.Text, what...) {
		s.t.Errorf("%s: got %+v, want an error that says %q", describeCall(tool, arguments), r, what)
	}
}

// fail makes a call that must fail in the host, which says all of what.
func (s *server) wantFailure(tool, arguments, failure string, what ...string) {
	s.t.Helper()
	if r := s.call(tool, arguments); !r.IsError || r.Failure != failure || !containsAll(r.Text, what...) {
		s.t.Errorf("%s: got %+v, want the failure %q that says %q", describeCall(tool, arguments), r, failure, what)
	}
}

// unknown makes a call of a tool that is not offered.
func (s *server) wantUnknown(tool string, what ...string) {
	s.t.Helper()
	if r := s.call(tool, `{}`); r.Code != -32602 || !containsAll(r.Text, append(what, "Unknown tool: "+tool)...) {
		s.t.Errorf("%s: got %+v, want error -32602 that says %q", tool, r, what)
	}
}

// logged waits until the log says all of what.
func (s *server) waitForLog(what ...string) {
	s.t.Helper()
	for end := time.Now().Add(patience); !containsAll(s.log.String(), what...); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("the log does not say %q", what)
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

// exit waits for the process to end and returns its exit code, and the lines that nobody has read.
func (s *server) exit() (code int, rest []string) {
	s.t.Helper()
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatalf("the process did not end within %s", patience)
	}
	for line := range s.lines {
		rest = append(rest, line)
	}
	return s.cmd.ProcessState.ExitCode(), rest
}

// kill ends the process as a machine that goes down does.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	s.exit()
}

// end ends the input, after which nothing more must come and the process must end well.
func (s *server) end() {
	s.t.Helper()
	if err := s.stdin.Close(); err != nil {
		s.t.Fatal(err)
	}
	if code, rest := s.exit(); code != 0 || len(rest) > 0 {
		s.t.Errorf("exit code %d, and further output: %q", code, rest)
	}
}

// names lists the tools that a server offers.
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
