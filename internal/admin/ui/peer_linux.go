package ui

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// refusedPeer returns why the peer of a connection over loopback may not be served; empty if it may. The kernel knows the user of each socket: a process
// of another user, except the superuser, is refused whatever it sends. Where the kernel does not answer, its tables of TCP sockets are searched; if
// they cannot be read, only the cookie decides.
func refusedPeer(peer, local netip.AddrPort) string {
	owner, found, err := diagnose(peer, local)
	switch {
	case err != nil:
		return peerIn(peer, local, os.Geteuid(), "/proc/net/tcp", "/proc/net/tcp6")
	case !found:
		return unknownUser
	}
	return refusedUser(owner, os.Geteuid())
}

const unknownUser = "its user is not known"

// refusedUser returns why processes of a user may not be served, to a server of another one; empty if they may.
func refusedUser(owner, user int) string {
	if owner == user || owner == 0 {
		return ""
	}
	return fmt.Sprintf("it belongs to the user with the ID %d", owner)
}

func peerIn(peer, local netip.AddrPort, user int, tables ...string) string {
	for _, table := range tables {
		f, err := os.Open(table)
		if os.IsNotExist(err) && table != tables[0] { // a system without IPv6
			continue
		}
		if err != nil {
			return ""
		}
		owner, found := findSocket(f, peer, local)
		_ = f.Close()
		if found {
			return refusedUser(owner, user)
		}
	}
	return unknownUser
}

// findSocket finds the socket of the peer of a connection in a table of the kernel, and returns its user. A socket that no process has any
// more has the inode 0, and the user 0 whichever user had it.
func findSocket(table io.Reader, peer, local netip.AddrPort) (user int, found bool) {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 {
			continue
		}
		from, ok := parseSocketAddress(fields[1])
		if !ok || from != peer {
			continue
		}
		to, ok := parseSocketAddress(fields[2])
		if !ok || to != local {
			continue
		}
		user, err := strconv.Atoi(fields[7])
		return user, err == nil && fields[9] != "0"
	}
	return 0, false
}

// parseSocketAddress parses ADDRESS:PORT in hexadecimal. The address consists of words of 32 bits in the byte order of the machine.
func parseSocketAddress(text string) (netip.AddrPort, bool) {
	address, port, _ := strings.Cut(text, ":")
	raw, err := hex.DecodeString(address)
	number, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(raw) != 4 && len(raw) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(raw); i += 4 {
		binary.NativeEndian.PutUint32(raw[i:], binary.BigEndian.Uint32(raw[i:]))
	}
	at, _ := netip.AddrFromSlice(raw)
	return netip.AddrPortFrom(at.Unmap(), uint16(number)), true
}
