package ui

import (
	"net"
	"net/netip"
	"sync"
)

// guarded accepts connections of the user only, as far as the system tells, and a bounded number at once.
type guarded struct {
	net.Listener
	slots chan struct{}
	log   *logger
}

// Accept implements net.Listener.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if why := refusedPeer(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr())); why != "" {
			g.refuse(c, "user", why)
			continue
		}
		select {
		case g.slots <- struct{}{}:
			return &counted{Conn: c, done: sync.OnceFunc(func() { <-g.slots })}, nil
		default:
			g.refuse(c, "connections", "there are too many")
		}
	}
}

// refuse closes a connection.
func (g *guarded) refuse(c net.Conn, kind, why string) {
	g.log.refused(kind, "a connection", why)
	_ = c.Close()
}

func addrPort(a net.Addr) netip.AddrPort {
	at, _ := netip.ParseAddrPort(a.String())
	return at
}

// counted is a connection that has a slot until it is closed.
type counted struct {
	net.Conn
	done func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	defer c.done()
	return c.Conn.Close()
}
