package ui

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Sizes and numbers of the kernel's interface for socket diagnostics (sock_diag(7), linux/inet_diag.h).
const (
	sockDiagByFamily = 20
	diagRequest      = 56 // bytes of struct inet_diag_req_v2
	diagAnswer       = 72 // bytes of struct inet_diag_msg
	diagUser         = 64 // where that has the user
	diagInode        = 68
)

var errNoDiagnosis = errors.New("the kernel does not tell")

// diagnose asks the kernel for the user of one end of a TCP connection over IPv4. It takes the same time however many connections there are. found is
// false if there is no such socket, or no process has it any more.
func diagnose(peer, local netip.AddrPort) (user int, found bool, err error) {
	if !peer.Addr().Is4() || !local.Addr().Is4() {
		return 0, false, errNoDiagnosis
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return 0, false, err
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(time.Second))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return 0, false, err
	}
	native := binary.NativeEndian
	request := make([]byte, unix.SizeofNlMsghdr+diagRequest)
	native.PutUint32(request, uint32(len(request)))
	native.PutUint16(request[4:], sockDiagByFamily)
	native.PutUint16(request[6:], unix.NLM_F_REQUEST)
	body := request[unix.SizeofNlMsghdr:]
	body[0], body[1] = unix.AF_INET, unix.IPPROTO_TCP
	native.PutUint32(body[4:], ^uint32(0)) // any state
	id := body[8:]                         // struct inet_diag_sockid, in network byte order
	binary.BigEndian.PutUint16(id, peer.Port())
	binary.BigEndian.PutUint16(id[2:], local.Port())
	copy(id[4:], peer.Addr().AsSlice())
	copy(id[20:], local.Addr().AsSlice())
	native.PutUint64(id[40:], ^uint64(0)) // no cookie
	if err := unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, false, err
	}
	answer := make([]byte, 1<<10)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil {
		return 0, false, err
	}
	answer = answer[:n]
	if len(answer) < unix.SizeofNlMsghdr {
		return 0, false, errNoDiagnosis
	}
	body = answer[unix.SizeofNlMsghdr:]
	switch kind := native.Uint16(answer[4:]); {
	case kind == unix.NLMSG_ERROR && len(body) >= 4:
		if errno := unix.Errno(-int32(native.Uint32(body))); errno != unix.ENOENT {
			return 0, false, errno
		}
		return 0, false, nil
	case kind != sockDiagByFamily || len(body) < diagAnswer:
		return 0, false, errNoDiagnosis
	}
	return int(native.Uint32(body[diagUser:])), native.Uint32(body[diagInode:]) != 0, nil
}
