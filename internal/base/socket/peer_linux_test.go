package socket

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestConnectionsOfOtherUsersAreClosed connects as the user nobody to a socket whose modes let everybody in.
func TestConnectionsOfOtherUsersAreClosed(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the superuser can start a process of another user")
	}
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	dir := short(t)
	path := filepath.Join(dir, "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	run := func(user uint32, program string, args ...string) (string, error) {
		c := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	request := func(user uint32) (string, error) {
		return run(user, curl, "-sS", "--unix-socket", path, "http://server/")
	}
	if out, err := request(65534); err == nil || strings.Contains(out, "hello") {
		t.Errorf("with the modes of Listen, another user gets %v: %s", err, out)
	}
	for name, mode := range map[string]os.FileMode{dir: 0o755, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := run(65534, "test", "-w", path); err != nil {
		t.Fatalf("the modes do not let another user in: %v %s", err, out)
	}
	if out, err := request(0); err != nil || out != "hello" {
		t.Fatalf("the user gets %v: %s", err, out)
	}
	if out, err := request(65534); err == nil || strings.Contains(out, "hello") {
		t.Errorf("another user, whom the modes let in, gets %v: %s", err, out)
	}
}
