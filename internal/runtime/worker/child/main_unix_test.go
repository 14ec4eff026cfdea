//go:build unix

package child

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/wasmtest"
	"github.com/bulkhead-mcp/bulkhead/internal/base/reexec"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/confine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// workerProcess is a process that runs Main, and the host's end of its connection.
type workerProcess struct {
	t       *testing.T
	command *exec.Cmd
	socket  *os.File
	in      *wire.Reader
	out     *wire.Writer
	stderr  bytes.Buffer
}

// startWorker starts Main in a process that inherits a file as its descriptor 4.
func startWorker(t *testing.T, inherited string) *workerProcess {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	theirs := os.NewFile(uintptr(fds[1]), "worker")
	defer theirs.Close()
	file, err := os.Open(inherited)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := &workerProcess{t: t, socket: os.NewFile(uintptr(fds[0]), "worker")}
	line := reexec.Command(reexec.Worker)
	w.command = exec.CommandContext(t.Context(), line[0], line[1:]...)
	w.command.ExtraFiles, w.command.Stderr = []*os.File{theirs, file}, &w.stderr
	if err := w.command.Start(); err != nil {
		t.Fatal(err)
	}
	w.in, w.out = wire.NewReader(w.socket, func(wire.Type) int { return 1 << 20 }), wire.NewWriter(w.socket)
	return w
}

func (w *workerProcess) send(t wire.Type, parts ...[]byte) {
	w.t.Helper()
	if err := w.out.Write(t, 1, parts...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *workerProcess) sendSetup(setup wire.Setup) {
	w.t.Helper()
	text, err := json.Marshal(setup)
	if err != nil {
		w.t.Fatal(err)
	}
	w.send(wire.TypeSetup, text)
}

// want receives the next frame, other than a line of the log.
func (w *workerProcess) want(t wire.Type) wire.Frame {
	w.t.Helper()
	for {
		f, err := w.in.Next()
		if err != nil || f.Type != wire.TypeLog && f.Type != t {
			w.t.Fatalf("got a frame of type %d: %.300q, %v; want type %d\n%s", f.Type, f.Payload, err, t, w.stderr.String())
		}
		if f.Type == t {
			return f
		}
	}
}

// wantExit closes the connection, and checks how the process ends.
func (w *workerProcess) wantExit(code int, message string) {
	w.t.Helper()
	err := w.socket.Close()
	_ = w.command.Wait() // the exit code is compared
	if got := w.command.ProcessState.ExitCode(); err != nil || got != code || !strings.Contains(w.stderr.String(), message) || code == 0 && w.stderr.Len() > 0 {
		w.t.Errorf("the process ended with the code %d and wrote %q (%v); want %d and %q", got, w.stderr.String(), err, code, message)
	}
}

func setupOf(code string) wire.Setup {
	return wire.Setup{Plugin: "it", Kind: string(engine.ABI1), Code: wire.Code{Dir: code, Root: 4}, Credit: 1 << 30, LogLevel: int8(hclog.Info),
		Limits: wire.Limits{Memory: 1 << 20, Input: 1 << 20, Output: 1 << 20, OperationBytes: 1 << 20}}
}

func TestWorkerRunsCallsUntilHostEnds(t *testing.T) {
	dir := compiled(t, wasmtest.Answering(`{"result":{"content":[]}}`))
	w := startWorker(t, dir)
	w.sendSetup(setupOf(dir))
	var report confine.Report
	if err := json.Unmarshal(w.want(wire.TypeReady).Payload, &report); err != nil || len(report) == 0 {
		t.Errorf("got the confinement report %v, %v", report, err)
	}
	w.want(wire.TypeLoaded)
	w.send(wire.TypeCall, wire.EncodeRequest(&call.Request{Method: "tools/call"})...)
	if r, err := wire.DecodeResult(w.want(wire.TypeResult).Payload); err != nil || r.Kind != call.OK || string(r.Body) != `{"content":[]}` {
		t.Errorf("got the result %d %s, %v", r.Kind, r.Body, err)
	}
	w.wantExit(0, "")
}

func TestHostThatViolatesProtocolEndsWorker(t *testing.T) {
	dir := compiled(t, wasmtest.Answering(`{}`))
	w := startWorker(t, dir)
	w.send(wire.TypeCall)
	if _, err := w.in.Next(); err == nil {
		t.Error("the worker sent a frame before its set-up")
	}
	w.wantExit(1, "worker: protocol violation: the first frame is of type")
	w = startWorker(t, dir)
	w.sendSetup(setupOf(dir))
	w.want(wire.TypeReady)
	w.want(wire.TypeLoaded)
	w.send(wire.TypeResult)
	if _, err := w.in.Next(); err == nil {
		t.Error("the worker sent a frame after the violation")
	}
	w.wantExit(1, "worker: protocol violation")
}

// The module is loaded only in a process that is confined as the set-up says.
func TestWorkerThatCannotBeConfinedLoadsNothing(t *testing.T) {
	dir := compiled(t, wasmtest.Answering(`{}`))
	w := startWorker(t, os.Args[0]) // not a directory
	w.sendSetup(setupOf(dir))
	if f, err := w.in.Next(); err == nil {
		t.Errorf("the worker sent a frame of type %d: %s", f.Type, f.Payload)
	}
	w.wantExit(1, "worker: confinement: descriptor 4: not a directory")
}

func TestModuleThatCannotBeLoadedIsReported(t *testing.T) {
	empty := t.TempDir()
	dir := compiled(t, wasmtest.Answering(`{}`))
	for name, c := range map[string]struct {
		dir    string
		change func(*wire.Setup)
		code   engine.Code
		want   string
	}{
		"no compiled code": {empty, func(*wire.Setup) {}, engine.CodeStale, "compiled code was removed"},
		"an unknown kind":  {dir, func(s *wire.Setup) { s.Kind = "other" }, engine.CodeInternal, `"other"`},
		"a malformed glob": {dir, func(s *wire.Setup) { s.Deny = []string{"[a"} }, engine.CodeInternal, "cannot run: "},
		"an Extism plugin": {dir, func(s *wire.Setup) { s.Kind = string(engine.Extism) }, engine.CodeInvalidModule, ""},
	} {
		t.Run(name, func(t *testing.T) {
			setup := setupOf(c.dir)
			c.change(&setup)
			w := startWorker(t, c.dir)
			w.sendSetup(setup)
			w.want(wire.TypeReady)
			var failure wire.Failure
			if err := json.Unmarshal(w.want(wire.TypeFailed).Payload, &failure); err != nil || failure.Code != string(c.code) || !strings.Contains(failure.Message, c.want) {
				t.Errorf("got %+v, %v; want the code %s and %q", failure, err, c.code, c.want)
			}
			w.wantExit(0, "")
		})
	}
}
