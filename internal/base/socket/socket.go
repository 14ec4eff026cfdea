// Package socket listens on Unix sockets that only the user can connect to.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

// dialTime bounds the attempt to find out whether a program listens on a socket that is there.
const dialTime = time.Second

// Listen listens on the Unix socket at the absolute path, which replaces one that a killed process has left there. Only the user can connect,
// and nobody else may be able to replace the socket: Listen checks its directory, and creates that if it is absent. Close removes the socket.
func Listen(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := ownedpath.Make(dir); err != nil {
		return nil, errors.New(ownedpath.Explain(err))
	}
	if err := checkAbandoned(path); err != nil {
		return nil, err
	}
	// The socket gets its mode before it gets its name.
	private, err := os.MkdirTemp(dir, ".socket-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	first := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: first, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	info, err := secure(first, path)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &listener{UnixListener: l, path: path, info: info}, nil
}

// secure gives the socket first its mode, and moves it to path.
func secure(first, path string) (fs.FileInfo, error) {
	if err := os.Chmod(first, 0o600); err != nil {
		return nil, err
	}
	info, err := os.Lstat(first)
	if err != nil {
		return nil, err
	}
	return info, os.Rename(first, path)
}

// checkAbandoned returns an error if path is anything but a socket at which no server listens.
func checkAbandoned(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%s is not a socket: remove it, or name another path", path)
	}
	conn, err := net.DialTimeout("unix", path, dialTime)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("%s: %w", path, syscall.EADDRINUSE), conn.Close())
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// listener is a listener whose socket has another path than it was made with.
type listener struct {
	*net.UnixListener
	path   string
	info   fs.FileInfo
	closed sync.Once
}

// Accept implements net.Listener. Connections of other users, except root, are closed: where the modes of directories do not keep them out.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if isUser(conn) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }

// Close implements net.Listener. A socket that another process has put in the place of this one remains.
func (l *listener) Close() error {
	l.closed.Do(func() {
		if now, err := os.Lstat(l.path); err == nil && os.SameFile(now, l.info) {
			_ = os.Remove(l.path)
		}
	})
	return l.UnixListener.Close()
}
