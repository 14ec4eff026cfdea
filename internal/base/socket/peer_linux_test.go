package socket

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/base/testenv"
)

// TestConnectionsOfOtherUsersAreClosed connects as the user nobody to a socket whose modes let everybody in.
func TestConnectionsOfOtherUsersAreClosed(t *testing.T) {
	curl, test := testenv.RunnerAs(t, "curl"), testenv.RunnerAs(t, "test")
	dir := short(t)
	path := filepath.Join(dir, "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("hello")) })}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	request := func(user uint32) (string, error) {
		return curl(user, "-sS", "--unix-socket", path, "http://server/")
	}
	if out, err := request(testenv.Nobody); err == nil || strings.Contains(out, "hello") {
		t.Errorf("with the modes of Listen, another user gets %v: %s", err, out)
	}
	for name, mode := range map[string]os.FileMode{dir: 0o755, path: 0o666} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := test(testenv.Nobody, "-w", path); err != nil {
		t.Fatalf("the modes do not let another user in: %v %s", err, out)
	}
	if out, err := request(0); err != nil || out != "hello" {
		t.Fatalf("the user gets %v: %s", err, out)
	}
	if out, err := request(testenv.Nobody); err == nil || strings.Contains(out, "hello") {
		t.Errorf("another user, whom the modes let in, gets %v: %s", err, out)
	}
}
