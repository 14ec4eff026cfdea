//go:build unix

package socket

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// short returns a directory whose path leaves room for the name of a socket.
func short(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestListen(t *testing.T) {
	dir := short(t)
	path := filepath.Join(dir, "new", "s")
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 || l.Addr().String() != path {
		t.Errorf("%v, %v, at %v", info, err, l.Addr())
	}
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = conn.Write([]byte("hello"))
			_ = conn.Close()
		}
	}()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := Listen(path); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a socket that is in use: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestListenReplacesAbandonedSocket listens where a killed process has left its socket, and leaves a socket that has taken its own place.
func TestListenReplacesAbandonedSocket(t *testing.T) {
	path := filepath.Join(short(t), "s")
	killed, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	killed.SetUnlinkOnClose(false)
	_ = killed.Close()
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	_ = first.Close()
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the first listener has removed the socket of the second: %v", err)
	}
}

// TestListenRemovesWhatKilledProcessesLeft has directories that were made an hour ago and now, and others that Listen has not made.
func TestListenRemovesWhatKilledProcessesLeft(t *testing.T) {
	dir := short(t)
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{".socket-1/s", ".socket-2", ".socket-3/other", ".socket-new/s", "socket/s"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".socket-1", ".socket-2", ".socket-3", "socket"} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Listen(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	entries, err := os.ReadDir(dir)
	got := ""
	for _, e := range entries {
		got += e.Name() + " "
	}
	if want := ".socket-2 .socket-3 .socket-new socket x "; got != want || err != nil {
		t.Errorf("left: %s, want %s, %v", got, want, err)
	}
}

func TestRefusedConnectionIsTriedAgain(t *testing.T) {
	for refusals, want := range map[int]error{0: nil, attempts - 1: nil, attempts: syscall.ECONNREFUSED} {
		tried := 0
		err := untilAccepted(attempts, func() error {
			if tried++; tried <= refusals {
				return syscall.ECONNREFUSED
			}
			return nil
		})
		if !errors.Is(err, want) {
			t.Errorf("after %d refusals: %v", refusals, err)
		}
	}
}

func TestListenRefusesUnsafePaths(t *testing.T) {
	dir := short(t)
	open := filepath.Join(dir, "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), os.Symlink("file", filepath.Join(dir, "link"))); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"open/s": "can be written by others", "file": "is not a socket", "link": "is not a socket"} {
		l, err := Listen(filepath.Join(dir, path))
		if err == nil {
			_ = l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", path, err, want)
		}
	}
}
