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

// refusedPeer returns why the peer of a connection over loopback may not be served; empty if it may. The kernel's tables of TCP sockets
// have the user of each: a process of another user, except the superuser, is refused whatever it sends. If the tables cannot be read,
// only the cookie decides.
func refusedPeer(peer, local netip.AddrPort) string {
	return peerIn(peer, local, os.Geteuid(), "/proc/net/tcp", "/proc/net/tcp6")
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
		switch {
		case !found:
		case owner == user || owner == 0:
			return ""
		default:
			return fmt.Sprintf("it belongs to the user with the ID %d", owner)
		}
	}
	return "its user is not known"
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
