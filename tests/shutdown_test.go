//go:build unix

package tests

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// misbehaveCommand serves the plugin misbehave with the given [server] drain.
func misbehaveCommand(t *testing.T, drain string) *exec.Cmd {
	t.Helper()
	config := filepath.Join(newDir(t, nil), "bulkhead.toml")
	putFile(t, config, fmt.Sprintf("[server]\ndrain = %q\n[[plugins]]\npath = %q\n", drain, filepath.Join(copyPlugins(t, "misbehave"), "misbehave")))
	return programCommand(t, "serve", "--config", config, "--project", newDir(t, nil))
}

func signal(t *testing.T, cmd *exec.Cmd, s os.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}

func TestSignalsShutServerDown(t *testing.T) {
	t.Parallel()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(s.String()+" drains a call in flight", func(t *testing.T) {
			t.Parallel()
			server := startServer(t, misbehaveCommand(t, "1h"))
			id := server.startCall("misbehave_sleep", `{"ms":300}`)
			signal(t, server.cmd, s)
			if got, r := server.answer(); got != id || r != (result{Text: "awake"}) {
				t.Errorf("%d %+v", got, r)
			}
			if code, rest := server.exit(); code != 0 || len(rest) > 0 {
				t.Errorf("exit code %d, output %q", code, rest)
			}
		})
		t.Run(s.String()+" cancels and answers calls after the drain", func(t *testing.T) {
			t.Parallel()
			server := startServer(t, misbehaveCommand(t, "50ms"))
			server.startCall("misbehave_sleep", `{"ms":3600000}`)
			server.startCall("misbehave_spin", `{}`)
			signal(t, server.cmd, s)
			code, rest := server.exit()
			if code != 0 || len(rest) != 2 {
				t.Errorf("exit code %d, output %q", code, rest)
			}
			for _, line := range rest {
				if !strings.Contains(line, `"error":{"code":-32000,"message":"The server is shutting down`) {
					t.Errorf("the answer is %s", line)
				}
			}
		})
	}
	t.Run("a second signal ends the process at once", func(t *testing.T) {
		t.Parallel()
		server := startServer(t, misbehaveCommand(t, "1h"))
		server.startCall("misbehave_sleep", `{"ms":3600000}`)
		signal(t, server.cmd, syscall.SIGTERM)
		time.Sleep(700 * time.Millisecond) // an earlier one counts as a repetition of the first
		signal(t, server.cmd, syscall.SIGTERM)
		if code, rest := server.exit(); code != 128+15 || len(rest) > 0 {
			t.Errorf("exit code %d, output %q", code, rest)
		}
	})
	t.Run("a signal that is delivered twice drains a call in flight", func(t *testing.T) {
		t.Parallel()
		server := startServer(t, misbehaveCommand(t, "1h"))
		id := server.startCall("misbehave_sleep", `{"ms":300}`)
		signal(t, server.cmd, syscall.SIGTERM)
		signal(t, server.cmd, syscall.SIGINT) // the kernel merges identical pending signals
		if got, r := server.answer(); got != id || r != (result{Text: "awake"}) {
			t.Errorf("%d %+v", got, r)
		}
		if code, rest := server.exit(); code != 0 || len(rest) > 0 {
			t.Errorf("exit code %d, output %q", code, rest)
		}
	})
	t.Run("SIGHUP reloads the configuration", func(t *testing.T) {
		t.Parallel()
		server := startServer(t, misbehaveCommand(t, "1s"))
		server.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`) // the server handles signals once it answers
		signal(t, server.cmd, syscall.SIGHUP)
		server.waitForLog("the configuration was read again, and has not changed")
		if text := server.mustCall("misbehave_ok", `{}`); text != "ok" {
			t.Error(text)
		}
		server.end()
	})
	t.Run("SIGUSR1 dumps goroutines without argument values", func(t *testing.T) {
		t.Parallel()
		server := startServer(t, misbehaveCommand(t, "1s"))
		server.startCall("misbehave_sleep", `{"ms":300}`)
		signal(t, server.cmd, syscall.SIGUSR1)
		server.waitForLog("goroutine profile: total", "internal/protocol/gateway.(*session).read", "end of the dump")
		if strings.Contains(server.log.String(), "(0x") {
			t.Error("the dump holds argument values")
		}
		server.nextAnswer()
		server.end()
	})
}

// TestSilentCollectorDoesNotCutShutdownShort has a collector accept connections and answer nothing, while a call outlives the drain: the time in which the
// last spans could be sent does not take that for the audit log.
func TestSilentCollectorDoesNotCutShutdownShort(t *testing.T) {
	t.Parallel()
	collector, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer collector.Close()
	dir := newDir(t, nil)
	config, log := filepath.Join(dir, "bulkhead.toml"), filepath.Join(dir, "audit.jsonl")
	putFile(t, config, fmt.Sprintf("[server]\ndrain = '50ms'\n[audit]\nfile = %q\notlp = 'http://%s'\n[[plugins]]\npath = %q\n", log, collector.Addr(), filepath.Join(copyPlugins(t, "misbehave"), "misbehave")))
	server := startServer(t, programCommand(t, "serve", "--config", config, "--project", newDir(t, nil)))
	server.startCall("misbehave_sleep", `{"ms":3600000}`)
	signal(t, server.cmd, syscall.SIGTERM)
	if code, rest := server.exit(); code != 0 || len(rest) != 1 {
		t.Errorf("exit code %d, output %q", code, rest)
	}
	if text := readFile(t, log); !strings.Contains(text, `"kind":"server"`) || !strings.Contains(text, `"method":"end"`) {
		t.Errorf("the audit log is %s", text)
	}
}

// unreadPipe is a pipe for output that the test leaves unread.
func unreadPipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// TestUnreadStderrBlocksNothing checks that a full pipe at stderr (64 KiB) blocks neither calls nor shutdown.
func TestUnreadStderrBlocksNothing(t *testing.T) {
	t.Parallel()
	cmd := misbehaveCommand(t, "1s")
	r, w := unreadPipe(t)
	cmd.Stderr = w
	server := startServer(t, cmd)
	for range 100 { // each call logs some kilobytes
		server.wantFailure("misbehave_panic", `{}`, "trap")
	}
	signal(t, cmd, syscall.SIGTERM)
	if code, rest := server.exit(); code != 0 || len(rest) > 0 {
		t.Errorf("exit code %d, output %q", code, rest)
	}
	w.Close()
	if text, err := io.ReadAll(r); err != nil || len(text) < 32<<10 {
		t.Errorf("the pipe held only %d bytes, not enough to fill it (%v)", len(text), err)
	}
}

// TestUnreadStdoutDoesNotBlockExit checks that unread answers, which block their writer, do not block the shutdown.
func TestUnreadStdoutDoesNotBlockExit(t *testing.T) {
	t.Parallel()
	cmd := misbehaveCommand(t, "50ms")
	r, w := unreadPipe(t)
	cmd.Stdout = w
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	for id := range 4 {
		fmt.Fprintln(stdin, callLine(id+1, "misbehave_big", `{"bytes":1000000}`))
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil { // wait until the server writes an answer
		t.Fatal(err)
	}
	signal(t, cmd, syscall.SIGTERM)
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("the process exited with %v", err)
		}
	case <-time.After(patience):
		t.Fatalf("the process did not exit within %s", patience)
	}
}
