package socket

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// isUser reports whether the process at the other end of a connection belongs to the user or to root.
func isUser(conn *net.UnixConn) bool {
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var peer *unix.Ucred
	if control := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); errors.Join(control, err) != nil {
		return false
	}
	return peer.Uid == 0 || int(peer.Uid) == os.Geteuid()
}
