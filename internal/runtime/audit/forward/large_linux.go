package forward

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// isTooLong reports whether a datagram was too long for the socket.
func isTooLong(err error) bool { return errors.Is(err, unix.EMSGSIZE) || errors.Is(err, unix.ENOBUFS) }

// sendFile sends content to journald as the descriptor of a sealed file in memory, which cannot change while journald reads it.
func sendFile(to *net.UnixConn, content []byte) error {
	fd, err := unix.MemfdCreate(identifier, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return os.NewSyscallError("memfd_create", err)
	}
	f := os.NewFile(uintptr(fd), identifier)
	defer f.Close()
	if _, err := f.Write(content); err != nil {
		return err
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE); err != nil {
		return os.NewSyscallError("fcntl", err)
	}
	raw, err := to.SyscallConn() // WriteMsgUnix refuses connected sockets
	if err != nil {
		return err
	}
	var sent error
	err = raw.Write(func(socket uintptr) (done bool) {
		for sent = unix.EINTR; errors.Is(sent, unix.EINTR); {
			sent = unix.Sendmsg(int(socket), nil, unix.UnixRights(fd), nil, 0)
		}
		return !errors.Is(sent, unix.EAGAIN)
	})
	return errors.Join(err, os.NewSyscallError("sendmsg", sent))
}
