//go:build linux

package tests

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// notifySocket returns a socket for messages to systemd, and what it receives.
func notifySocket(t *testing.T) (path string, states <-chan string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "s")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	received := make(chan string, 100)
	go func() {
		for buffer := make([]byte, 4096); ; {
			n, err := socket.Read(buffer)
			if err != nil {
				return
			}
			state, _, _ := strings.Cut(string(buffer[:n]), "\n")
			received <- state
		}
	}()
	return path, received
}

func expectState(t *testing.T, states <-chan string, want string) {
	t.Helper()
	select {
	case got := <-states:
		if got != want {
			t.Errorf("systemd was told %s, want %s", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("systemd was not told %s", want)
	}
}

// TestServeTakesSocketOfSystemd has systemd's own program pass the socket at the first connection.
func TestServeTakesSocketOfSystemd(t *testing.T) {
	t.Parallel()
	activate, err := exec.LookPath("systemd-socket-activate")
	if err != nil {
		t.Skip("systemd-socket-activate is not installed (Debian: systemd)")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	notify, states := notifySocket(t)
	serve := programCommand(t, "serve", "--http", "systemd", "--plugins", copyPlugins(t, "hello"), "--project", newDir(t, nil))
	args := []string{"--listen", address}
	for _, variable := range append(serve.Env, "NOTIFY_SOCKET="+notify) {
		args = append(args, "-E", variable)
	}
	cmd := exec.Command(activate, append(append(args, serve.Path), serve.Args[1:]...)...)
	cmd.Dir, cmd.Env = serve.Dir, serve.Env
	s := startServer(t, cmd)
	for range 1000 {
		if strings.Contains(s.log.String(), "Listening on") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if code, body := modernCall(t, "http://"+address+"/mcp", "hello_greet", `{"name":"Ann"}`); code != http.StatusOK || !strings.Contains(body, "Hello, Ann!") {
		t.Errorf("the call that starts the server: %d %s", code, body)
	}
	expectState(t, states, "READY=1")
	signal(t, s.cmd, syscall.SIGHUP)
	expectState(t, states, "RELOADING=1")
	expectState(t, states, "READY=1")
	signal(t, s.cmd, syscall.SIGTERM)
	expectState(t, states, "STOPPING=1")
	if code, _ := s.exit(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// passSockets runs serve with sockets as descriptors from 3 on, as systemd does.
func passSockets(t *testing.T, variables string, sockets ...*os.File) (code int, stderr string) {
	t.Helper()
	serve := programCommand(t, "serve", "--http", "systemd", "--plugins", copyPlugins(t, "hello"), "--project", newDir(t, nil))
	cmd := exec.Command("sh", append([]string{"-c", variables + ` exec "$@"`, "sh", serve.Path}, serve.Args[1:]...)...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = serve.Dir, serve.Env, sockets
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	t.Errorf("the server ended with %v: %s", err, out)
	return 0, string(out)
}

func TestServeRefusesWhatIsNoSocketOfItsOwn(t *testing.T) {
	t.Parallel()
	file := func(f *os.File, err error) *os.File {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	connected, err := net.Dial("tcp", tcp.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connected.Close()
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	listening := file(tcp.(*net.TCPListener).File())
	const passed = "LISTEN_PID=$$ LISTEN_FDS="
	for name, test := range map[string]struct {
		variables string
		sockets   []*os.File
		want      string
	}{
		"no variables":                {"", []*os.File{listening}, "systemd has passed no socket to this process"},
		"a socket of another process": {"LISTEN_PID=1 LISTEN_FDS=1", []*os.File{listening}, "systemd has passed no socket to this process"},
		"two sockets":                 {passed + "2", []*os.File{listening, listening}, "systemd has passed 2 sockets, and one is served"},
		"a connection":                {passed + "1", []*os.File{file(connected.(*net.TCPConn).File())}, "does not accept connections: set ListenStream= and Accept=no"},
		"a file":                      {passed + "1", []*os.File{file(os.Open(os.DevNull))}, "what systemd has passed is no socket"},
		"a local socket":              {passed + "1", []*os.File{file(local.(*net.UnixListener).File())}, "is no TCP socket: listen on a loopback address instead"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, stderr := passSockets(t, test.variables, test.sockets...); code != 2 || !strings.Contains(stderr, test.want) {
				t.Errorf("exit code %d, %s", code, stderr)
			}
		})
	}
}

// TestSystemdUnitKeepsLayers boots systemd with the units of docs/deploy, and uses the server in it: no layer of the confinement is missing,
// since the config requires them all, and a call in flight survives the end of the server.
func TestSystemdUnitKeepsLayers(t *testing.T) {
	if dir := os.Getenv("BULKHEAD_IN_SYSTEMD"); dir != "" {
		checkUnit(t)
		return
	}
	testenv.All(t, "boots systemd")
	if os.Geteuid() != 0 {
		t.Skip("systemd is booted by root only")
	}
	for _, program := range []string{"/lib/systemd/systemd", "/usr/bin/systemctl", "/usr/bin/unshare"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("%s is not installed (Debian: systemd, util-linux)", program)
		}
	}
	out := t.TempDir()
	openToAll(t, out)
	for _, dir := range []string{"mnt", "units", "plugins", "etc/bulkhead-server"} {
		if err := os.MkdirAll(filepath.Join(out, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{
		built.program(t): "bulkhead", os.Args[0]: "tests",
		"../docs/deploy/bulkhead.service": "units/bulkhead.service", "../docs/deploy/bulkhead.socket": "units/bulkhead.socket",
		"../docs/observing.md": "observing.md",
	} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, to), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(filepath.Join(out, "plugins"), os.DirFS(copyPlugins(t, "misbehave"))); err != nil {
		t.Fatal(err)
	}
	putFile(t, filepath.Join(out, "etc/bulkhead-server/token"), unitToken+"\n")
	putFile(t, filepath.Join(out, "etc/bulkhead-server/bulkhead.toml"), "[server]\nconfinement = \"required\"\ndrain = \"1m\"\n"+
		"[http]\ntoken_file = \"${env:CREDENTIALS_DIRECTORY}/token\"\n[[plugins]]\npath = \"/out/plugins/misbehave\"\n")
	putFile(t, filepath.Join(out, "units/check.target"), "[Unit]\nDefaultDependencies=no\nWants=bulkhead.socket check.service\n")
	putFile(t, filepath.Join(out, "units/check.service"), "[Unit]\nDefaultDependencies=no\nAfter=bulkhead.socket\n[Service]\nType=oneshot\n"+
		"Environment=BULKHEAD_IN_SYSTEMD=1\nWorkingDirectory=/out\nStandardOutput=append:/out/result\nStandardError=append:/out/result\n"+
		"ExecStart=/out/tests -test.run=^TestSystemdUnitKeepsLayers$ -test.v\nExecStopPost=/usr/bin/systemctl --force exit\n")
	putFile(t, filepath.Join(out, "units/bulkhead.service.d/log.conf"), "[Service]\nStandardError=append:/out/log\n")
	boot, err := filepath.Abs("testdata/systemd/boot")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "unshare", "--mount", "--pid", "--fork", "--uts", "--ipc", "--net", "--cgroup", "--kill-child", "sh", "-c",
		`ip link set lo up 2>/dev/null || ifconfig lo up; exec "$@"`, "sh", boot, out)
	log, err := cmd.CombinedOutput()
	result, readErr := os.ReadFile(filepath.Join(out, "result"))
	if readErr != nil {
		t.Skipf("systemd cannot be booted in namespaces here: %v: %s", err, log)
	}
	served, _ := os.ReadFile(filepath.Join(out, "log")) // without a log, the result says what failed
	if !strings.Contains(string(result), "\nPASS\n") {
		t.Errorf("%v\n%s\n%s\nlog of the service:\n%s", err, log, result, served)
	}
	// One warning is of the request without a token. A worker that cannot be measured causes another one.
	if strings.Count(string(served), "[WARN]") != 1 || strings.Contains(string(served), "[ERROR]") {
		t.Errorf("the log of the service:\n%s", served)
	}
}

const unitToken = "a-token-of-the-unit-test-0123456789"

// openToAll makes a temporary directory and those above it reachable for the user of the unit.
func openToAll(t *testing.T, dir string) {
	t.Helper()
	for ; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// checkUnit is the part of TestSystemdUnitKeepsLayers that runs in the booted system.
func checkUnit(t *testing.T) {
	const url = "http://127.0.0.1:8808/mcp"
	systemctl := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "systemctl", args...).CombinedOutput()
		if err != nil && args[0] != "is-active" {
			t.Errorf("systemctl %s: %v: %s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	t.Cleanup(func() {
		if t.Failed() {
			out, err := exec.Command("systemctl", "status", "--no-pager", "bulkhead.service", "bulkhead.socket").CombinedOutput()
			t.Logf("%v: %s", err, out)
		}
	})
	if state := systemctl("is-active", "bulkhead.service"); state != "inactive" {
		t.Errorf("before the first connection the service is %s", state)
	}
	if code, body := modernCall(t, url, "misbehave_ok", `{}`); code != http.StatusUnauthorized {
		t.Fatalf("without the token: %d %s\n%s", code, body, systemctl("status", "bulkhead.service"))
	}
	bearer := []string{"Authorization", "Bearer " + unitToken}
	if code, body := modernCall(t, url, "misbehave_ok", `{}`, bearer...); code != http.StatusOK || strings.Contains(body, "isError") {
		t.Fatalf("a call in a worker with all layers: %d %s", code, body)
	}
	systemctl("reload", "bulkhead.service")
	if state := systemctl("is-active", "bulkhead.service"); state != "active" {
		t.Errorf("after a reload the service is %s", state)
	}
	// What the page runs as the user of the service has its config.
	asService := regexp.MustCompile(`(?m)^runuser .* bulkhead ui .*`).FindString(readFile(t, "observing.md"))
	asService = strings.Replace(asService, "bulkhead ui --no-open --port 7777", "bulkhead policy --json", 1)
	if out, err := exec.CommandContext(t.Context(), "sh", "-c", asService).CombinedOutput(); err != nil || !strings.Contains(string(out), "misbehave") {
		t.Errorf("%s: %v: %s", asService, err, out)
	}
	// The header of a stream arrives while the call runs.
	inFlight := startCall(t, http.DefaultClient, url, "misbehave_sleep", `{"ms":5000}`, bearer[1])
	stopped := make(chan string, 1)
	go func() {
		defer inFlight.Body.Close()
		body, err := io.ReadAll(inFlight.Body)
		stopped <- fmt.Sprint(string(body), err)
	}()
	systemctl("stop", "bulkhead.service")
	if body := <-stopped; !strings.Contains(body, "awake") {
		t.Errorf("the call in flight when the service was stopped: %s", body)
	}
	if code, body := modernCall(t, url, "misbehave_ok", `{}`, bearer...); code != http.StatusOK {
		t.Errorf("the next connection starts the service again: %d %s", code, body)
	}
}

func TestSystemdUnitsAreValidAndHardened(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed (Debian: systemd)")
	}
	dir := t.TempDir()
	service, socket := filepath.Join(dir, "bulkhead.service"), filepath.Join(dir, "bulkhead.socket")
	putFile(t, service, strings.ReplaceAll(readFile(t, "../docs/deploy/bulkhead.service"), "/usr/local/bin/bulkhead", built.program(t)))
	putFile(t, socket, readFile(t, "../docs/deploy/bulkhead.socket"))
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", service, socket).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v: %s", err, out)
	}
	// Of an exposure of 10, a unit without hardening has 9.6, and this one 2.4.
	if out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--no-pager", "--threshold=25", service).CombinedOutput(); err != nil {
		t.Errorf("security: %v: %s", err, out)
	}
}
