//go:build !linux

package ui

import "net/netip"

// refusedPeer returns "": these systems do not tell which user a connection belongs to, so that only the cookie decides.
func refusedPeer(_, _ netip.AddrPort) string { return "" }
