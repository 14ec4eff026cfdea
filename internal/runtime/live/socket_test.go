//go:build unix

package live

import (
	"bytes"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/audit"
)

// directory returns a directory whose path leaves room for the names of sockets.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "l")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Dir(dir)
}

func listen(t *testing.T, dir string, s *State) *Server {
	t.Helper()
	v, err := Listen(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

func read(t *testing.T, dir string) Reading {
	t.Helper()
	r, err := Read(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestServersAreReadUntilTheyEnd has two servers and the socket of a killed one in one directory.
func TestServersAreReadUntilTheyEnd(t *testing.T) {
	dir := directory(t)
	if r := read(t, dir); len(r.Servers)+len(r.Silent) > 0 {
		t.Errorf("without a directory: %+v", r)
	}
	first := stateOf()
	a := listen(t, dir, first)
	killed := filepath.Join(dir, "1-KILLED.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: killed, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	if r := read(t, dir); len(r.Servers) != 1 || len(r.Silent) > 0 {
		t.Errorf("beside a killed server: %+v", r)
	}
	listen(t, dir, stateOf())
	if _, err := os.Lstat(killed); !os.IsNotExist(err) {
		t.Errorf("the socket of the killed server remains: %v", err)
	}
	first.Record(&audit.Record{ID: "x", Kind: audit.KindRefused})
	if r := read(t, dir); len(r.Servers) != 2 || len(r.Servers[0].Refused) != 1 || r.Servers[0].PID != os.Getpid() || len(r.Servers[1].Refused) != 0 {
		t.Errorf("two servers: %+v", r)
	}
	a.Close()
	if r := read(t, dir); len(r.Servers) != 1 || len(r.Silent) > 0 {
		t.Errorf("after one has ended: %+v", r)
	}
	for path, want := range map[string]os.FileMode{dir: 0o700, paths(t, dir)[0]: 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
}

func paths(t *testing.T, dir string) []string {
	t.Helper()
	all, _ := sockets(dir)
	if len(all) == 0 {
		t.Fatal("there is no socket")
	}
	return all
}

// TestReadersAreBounded has readers that take nothing: a Snapshot is larger than what a socket buffers.
func TestReadersAreBounded(t *testing.T) {
	dir, s := directory(t), stateOf()
	for range maxEvents {
		s.Record(&audit.Record{Kind: audit.KindRefused, Client: strings.Repeat("\x01", maxText), Tool: strings.Repeat("\x01", maxText), Plugin: strings.Repeat("\x01", maxText)})
		s.Record(&audit.Record{Kind: audit.KindCall, Code: "fuel", Client: strings.Repeat("\x01", maxText), Tool: strings.Repeat("\x01", maxText), Plugin: strings.Repeat("\x01", maxText)})
	}
	listen(t, dir, s)
	at := paths(t, dir)[0]
	for range maxReaders {
		conn, err := net.Dial("unix", at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if r := read(t, dir); len(r.Servers) != 0 || len(r.Silent) != 1 || !strings.Contains(r.Silent[0], "too many readers") {
		t.Errorf("%d servers, silent: %v", len(r.Servers), r.Silent)
	}
}

// TestWhatIsNoStateIsReported has programs of the user that listen in the directory, and tell something else.
func TestWhatIsNoStateIsReported(t *testing.T) {
	dir := directory(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"garbage": []byte("hello\n"), "endless": bytes.Repeat([]byte("x"), maxSnapshot+1), "types": []byte(`{"calls":7}` + "\n"),
		"many": []byte(`{"calls":[` + strings.TrimSuffix(strings.Repeat("{},", 2*maxCalls), ",") + "]}\n"),
	} {
		l, err := net.Listen("unix", filepath.Join(dir, name+extension))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Write(text)
				_ = conn.Close()
			}
		}()
	}
	r := read(t, dir)
	if len(r.Silent) != 3 || len(r.Servers) != 1 || len(r.Servers[0].Calls) != maxCalls {
		t.Errorf("silent: %v, %d servers", r.Silent, len(r.Servers))
	}
}

func TestDirectoryOfOthersIsRefused(t *testing.T) {
	dir := directory(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if v, err := Listen(dir, stateOf()); err == nil {
		v.Close()
		t.Error("a server listens where others can replace its socket")
	}
	if r, err := Read(t.Context(), dir); err == nil {
		t.Errorf("read %+v where others can make sockets", r)
	}
	if _, err := Listen("/"+strings.Repeat("d", maxPath), stateOf()); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("a path that is too long: %v", err)
	}
}
