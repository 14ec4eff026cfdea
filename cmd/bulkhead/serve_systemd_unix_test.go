//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestEndedServerHasToldSystemd checks that a server tells that it stops before it has ended, even if the function that its context
// calls has not run yet.
func TestEndedServerHasToldSystemd(t *testing.T) {
	dir, err := os.MkdirTemp("", "notify") // the path of a socket has at most 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	var s server
	(&options{stderr: t.Output()}).tellSystemd(t.Context(), &s)
	if err := s.end(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	_ = socket.SetReadDeadline(time.Now().Add(5 * time.Second)) // what was sent can be read at once
	buffer := make([]byte, 64)
	if n, err := socket.Read(buffer); err != nil || string(buffer[:n]) != "STOPPING=1" {
		t.Errorf("systemd was told %q, %v", buffer[:n], err)
	}
}
