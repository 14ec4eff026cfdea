//go:build unix

package hostile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is the timeout for events that must happen; no test sleeps for it.
const patience = time.Minute

// server is a running `bulkhead serve`. Its methods may be called from several goroutines.
type server struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	log    logBuffer // content of stderr
	exited chan struct{}

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
	stray   []string // lines of stdout that answer no pending request
}

// answer is the response to a request.
type answer struct {
	Text    string // text of all content items, one per line, or the message of a JSON-RPC error
	IsError bool
	Failure string // code of a host failure
	Code    int    // code of a JSON-RPC error
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

// start starts cmd and kills it at the end of the test.
func start(t testing.TB, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{t: t, cmd: cmd, exited: make(chan struct{}), waiting: map[int]chan answer{}}
	cmd.Stderr = &s.log
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if s.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.exited)
		for r := bufio.NewReader(out); ; {
			line, err := r.ReadString('\n')
			if line != "" {
				s.take(line)
			}
			if err != nil {
				break
			}
		}
		_ = cmd.Wait() // the exit code is in cmd.ProcessState
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-s.exited
		if t.Failed() {
			for line := range strings.Lines(s.log.String()) {
				t.Log(strings.TrimSpace(line[:min(len(line), 400)]))
			}
		}
	})
	return s
}

// take delivers a line to the request that it answers.
func (s *server) take(line string) {
	var m struct {
		ID    int
		Error *struct {
			Code    int
			Message string
		}
		Result *struct {
			Content []struct{ Text string }
			IsError bool
			Meta    struct {
				Failure struct{ Code string } `json:"bulkhead/error"`
			} `json:"_meta"`
		}
	}
	err := json.Unmarshal([]byte(line), &m)
	s.mu.Lock()
	defer s.mu.Unlock()
	to, ok := s.waiting[m.ID]
	if err != nil || !ok || m.Error == nil && m.Result == nil || !strings.HasSuffix(line, "\n") {
		s.stray = append(s.stray, line)
		return
	}
	delete(s.waiting, m.ID)
	if m.Error != nil {
		to <- answer{Text: m.Error.Message, Code: m.Error.Code}
		return
	}
	a := answer{IsError: m.Result.IsError, Failure: m.Result.Meta.Failure.Code}
	var texts []string
	for _, item := range m.Result.Content {
		texts = append(texts, item.Text)
	}
	a.Text = strings.Join(texts, "\n")
	to <- a
}

// request sends a request; the channel delivers its answer.
func (s *server) request(method, params string) <-chan answer {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	to := make(chan answer, 1)
	s.waiting[s.last] = to
	if _, err := fmt.Fprintf(s.stdin, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", s.last, method, params); err != nil {
		s.t.Fatal(err)
	}
	return to
}

// begin sends a call.
func (s *server) begin(tool, arguments string) <-chan answer {
	s.t.Helper()
	return s.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, arguments))
}

// lastID returns the id of the last request.
func (s *server) lastID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// cancel cancels a call, which then gets no answer.
func (s *server) cancel(id int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, id)
	if _, err := fmt.Fprintf(s.stdin, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", id); err != nil {
		s.t.Fatal(err)
	}
}

// await waits for an answer.
func (s *server) await(from <-chan answer) answer {
	s.t.Helper()
	select {
	case a := <-from:
		if leaks(a.Text) {
			s.t.Errorf("the answer contains the secret: %q", a.Text)
		}
		return a
	case <-s.exited:
		s.t.Fatal("the server exited")
	case <-time.After(patience):
		s.t.Fatalf("no answer within %s", patience)
	}
	return answer{}
}

func (s *server) call(tool, arguments string) answer {
	s.t.Helper()
	return s.await(s.begin(tool, arguments))
}

// checkOthers checks that the host answers a ping and the plugin echo a call.
func (s *server) checkOthers() {
	s.t.Helper()
	echo, ping := s.begin("echo", `{"text":"still here"}`), s.request("ping", `{}`)
	if a := s.await(echo); a != (answer{Text: "still here"}) {
		s.t.Errorf("the other plugin: %+v", a)
	}
	if a := s.await(ping); a != (answer{}) {
		s.t.Errorf("ping: %+v", a)
	}
}

// end closes stdin; the process must exit with 0, with no stray output and no secret in the log.
func (s *server) end() {
	s.t.Helper()
	if err := s.stdin.Close(); err != nil {
		s.t.Fatal(err)
	}
	select {
	case <-s.exited:
	case <-time.After(patience):
		s.t.Fatalf("the process did not exit within %s", patience)
	}
	if code := s.cmd.ProcessState.ExitCode(); code != 0 || len(s.stray) > 0 {
		s.t.Errorf("exit code %d, stray lines %q, want 0 and none", code, s.stray)
	}
	if leaks(s.log.String()) {
		s.t.Error("the log contains the secret")
	}
}

// checkOthersUntil repeats checkOthers until over is closed, at least once.
func (s *server) checkOthersUntil(over <-chan struct{}) {
	s.t.Helper()
	for rounds := 0; ; rounds++ {
		select {
		case <-over:
			if rounds == 0 {
				s.t.Error("no other request was served before the channel was closed")
			}
			return
		default:
			s.checkOthers()
		}
	}
}

// peakMemory returns the peak resident memory of the process in bytes; 0 if the system does not report it.
func (s *server) peakMemory() int64 {
	s.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil && runtime.GOOS == "linux" {
		s.t.Fatal(err)
	}
	var kib int64
	for line := range strings.Lines(string(status)) {
		if n, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			if _, err := fmt.Sscan(n, &kib); err != nil {
				s.t.Fatal(err)
			}
		}
	}
	return kib << 10
}
