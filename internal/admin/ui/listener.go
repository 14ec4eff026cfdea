package ui

import (
	"net"
	"net/netip"
	"sync"

	"github.com/hashicorp/go-hclog"
)

// guarded accepts connections of the user only, as far as the system tells, and a bounded number at once.
type guarded struct {
	net.Listener
	slots              chan struct{}
	log                hclog.Logger
	toldUser, toldFull bool // whether a refusal was logged, for each reason
}

// Accept implements net.Listener.
func (g *guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if why := refusedPeer(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr())); why != "" {
			g.refuse(c, &g.toldUser, why)
			continue
		}
		select {
		case g.slots <- struct{}{}:
			return &counted{Conn: c, done: sync.OnceFunc(func() { <-g.slots })}, nil
		default:
			g.refuse(c, &g.toldFull, "there are too many")
		}
	}
}

// refuse closes a connection. Only the first one for each reason is logged, as told says: another user can make any number of them.
func (g *guarded) refuse(c net.Conn, told *bool, why string) {
	if !*told {
		*told = true
		g.log.Warn("a connection was refused; further ones for this reason are not logged", "reason", why)
	}
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
