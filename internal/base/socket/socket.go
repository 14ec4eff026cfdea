// Package socket listens on Unix sockets that only the user can connect to.
package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/ownedpath"
)

// dialTime bounds the attempt to find out whether a program listens on a socket that is there.
const dialTime = time.Second

// Except on Linux, a server whose queue of connections is full refuses further ones too. It accepts those of the queue at once.
const (
	attempts = 3
	between  = 10 * time.Millisecond
)

// Directories in which Listen makes sockets before they get their names.
const (
	privatePrefix = ".socket-"
	privateName   = "s"
	privateAge    = time.Minute // of one that a killed process has left
)

// Listen listens on the Unix socket at the absolute path, which replaces one that a killed process has left there. Only the user can connect,
// and no other user may be able to replace the socket: Listen checks its directory, and creates that if it is absent. Close removes the socket.
func Listen(path string) (net.Listener, error) {
	dir := filepath.Dir(path)
	if err := ownedpath.Make(dir); err != nil {
		return nil, errors.New(ownedpath.Explain(err))
	}
	if err := checkAbandoned(path); err != nil {
		return nil, err
	}
	// The socket gets its mode before it gets its name.
	removePrivate(dir)
	private, err := os.MkdirTemp(dir, privatePrefix)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(private)
	first := filepath.Join(private, privateName)
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
	switch err := dial(path); {
	case err == nil:
		return fmt.Errorf("%s: %w", path, syscall.EADDRINUSE)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// IsAbandoned reports whether no server listens at the socket at path.
func IsAbandoned(path string) bool { return errors.Is(dial(path), syscall.ECONNREFUSED) }

func dial(path string) error {
	most := attempts
	if runtime.GOOS == "linux" {
		most = 1
	}
	return untilAccepted(most, func() error {
		conn, err := net.DialTimeout("unix", path, dialTime)
		if err != nil {
			return err
		}
		return conn.Close()
	})
}

// untilAccepted calls dial until it is not refused, at most so often.
func untilAccepted(most int, dial func() error) error {
	for i := 1; ; i++ {
		err := dial()
		if i == most || !errors.Is(err, syscall.ECONNREFUSED) {
			return err
		}
		time.Sleep(between)
	}
}

// removePrivate removes what killed processes have left in dir.
func removePrivate(dir string) {
	entries, _ := os.ReadDir(dir) // those that were read before an error
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), privatePrefix) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > privateAge {
			_ = os.Remove(filepath.Join(dir, e.Name(), privateName))
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
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
