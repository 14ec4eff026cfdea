// Package dial connects to hosts by name, and to public addresses only: a plugin that was granted a host
// must not reach, by what that host's name resolves to, the services of the machine or of its network.
// New makes a Dialer from what may be reached otherwise; DialContext fits into net/http's Transport.
//
// Every connection resolves the name once, checks every address of the answer and dials exactly what was
// checked, so an answer that changes between check and use (rebinding) changes nothing. It is not asked
// here whether a host is granted at all: whoever dials has to have checked that.
package dial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Bounds of one connection.
const (
	// maxAttempts is how many of a host's addresses are tried.
	maxAttempts = 8
	// attemptTime is how long one address is tried while there is another.
	attemptTime = 5 * time.Second
	// connectTime is how long all of it may take. net/http does not end a connection that is being made
	// when the request that wanted it ends.
	connectTime = 20 * time.Second
)

// Resolver finds the addresses of a host; *net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config says how a Dialer finds hosts and which of them may be private.
type Config struct {
	// Resolver finds the addresses of names; nil means the system's.
	Resolver Resolver
	// Private tells whether host, in lower case and without brackets, was granted as one that is not
	// public; nil means that none was. Even then nothing connects to a multicast or unspecified address,
	// nor to a metadata service whose address is not itself the host that was granted.
	Private func(host string, port uint16) bool
	// Connect opens a connection to an address that was checked; nil means TCP. Tests put their own
	// network here.
	Connect func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// Log takes, at debug, the addresses that were refused: the error does not name them, and whoever
	// dials reports the refusal itself. Nil means none.
	Log hclog.Logger
}

// Refused is the error for a host that has an address of a class that may not be dialled. It does not
// hold the address: what a name resolves to in the host's network is no business of a plugin's.
type Refused struct {
	Host  string
	Class Class
}

func (r *Refused) Error() string {
	remedy := "only a grant as private reaches it"
	switch r.Class {
	case Multicast, Unspecified:
		remedy = "no grant reaches it"
	case Metadata:
		remedy = "only a private grant of the address itself reaches it"
	}
	return fmt.Sprintf("%s has a %s address: %s", r.Host, r.Class, remedy)
}

// Dialer connects to hosts. It is safe for concurrent use.
type Dialer struct{ config Config }

// New makes a Dialer; it connects to nothing.
func New(c Config) *Dialer {
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	if c.Private == nil {
		c.Private = func(string, uint16) bool { return false }
	}
	if c.Connect == nil {
		c.Connect = connect
	}
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	return &Dialer{config: c}
}

// DialContext connects to "host:port"; the network can only be "tcp". The error is a *Refused where the
// host has an address that may not be dialled, even if it has others that may.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, fmt.Errorf("dial %s: network %q is not tcp", address, network)
	}
	host, port, err := split(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	addresses, err := d.resolve(ctx, host)
	if err != nil {
		return nil, err
	}
	private := d.config.Private(host, port)
	for _, a := range addresses {
		if class := Classify(a); !allowed(class, private, isAddress(host)) {
			d.config.Log.Debug("dial: denied", "host", host, "address", a, "port", port, "class", class)
			return nil, &Refused{Host: host, Class: class}
		}
	}
	return d.first(ctx, addresses, port)
}

func split(address string) (host string, port uint16, err error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("dial: %w", err)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("dial %s: not a host and a port from 1 to 65535", address)
	}
	return strings.ToLower(host), uint16(n), nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// resolve gives the addresses of host, at least one.
func (d *Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	found, err := d.config.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", host, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("resolve %s: %w", host, &net.DNSError{Err: "no address", Name: host, IsNotFound: true})
	}
	// The slice may be the resolver's own: what is checked must not change before it is dialled.
	addresses := make([]netip.Addr, len(found))
	for i, a := range found {
		addresses[i] = a.Unmap()
	}
	return addresses, nil
}

// allowed decides on an address of a class. literal tells that the host is an address, not a name.
func allowed(class Class, private, literal bool) bool {
	switch class {
	case Public:
		return true
	case Multicast, Unspecified:
		return false
	case Metadata:
		return private && literal
	default:
		return private
	}
}

// first connects to the first address that answers.
func (d *Dialer) first(ctx context.Context, addresses []netip.Addr, port uint16) (net.Conn, error) {
	addresses = addresses[:min(len(addresses), maxAttempts)]
	var errs []error
	for i, a := range addresses {
		conn, err := d.attempt(ctx, netip.AddrPortFrom(a, port), i == len(addresses)-1)
		if err == nil {
			return conn, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

func (d *Dialer) attempt(ctx context.Context, to netip.AddrPort, last bool) (net.Conn, error) {
	if !last {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, attemptTime)
		defer cancel()
	}
	return d.config.Connect(ctx, to)
}

// connect dials an address. Control is the second line: it sees the address that the socket is about to
// be connected to, whatever came before.
func connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		return exactly(address, to)
	}}
	return dialer.DialContext(ctx, "tcp", to.String())
}

func exactly(address string, want netip.AddrPort) error {
	got, err := netip.ParseAddrPort(address)
	if err != nil || netip.AddrPortFrom(got.Addr().Unmap(), got.Port()) != want {
		return errors.New("dial: the address is not the one that was checked")
	}
	return nil
}
