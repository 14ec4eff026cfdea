// Package dial connects to hosts by name, by default only to public addresses. It prevents server-side request forgery: a
// plugin that was granted a host must not reach services of the machine or its network by the addresses that the host's
// name resolves to. Start with New; Dialer.DialContext fits into http.Transport.
//
// Every connection resolves the name once, checks every address and dials exactly those, so that DNS rebinding, a
// different answer between check and use, has no effect. Callers must have checked that the host is granted.
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

// Limits of one connection.
const (
	// maxAttempts bounds the addresses of a host that are tried.
	maxAttempts = 8
	// attemptTime bounds an attempt that is not the last.
	attemptTime = 5 * time.Second
	// connectTime bounds resolution and all attempts. It is needed because net/http does not cancel a dial when the
	// request that started it ends.
	connectTime = 20 * time.Second
)

// Resolver resolves host names; *net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config configures how a Dialer resolves names and connects to hosts.
type Config struct {
	// Resolver resolves names; nil means the system's.
	Resolver Resolver
	// Private reports whether host, in lower case and without brackets, is granted as private; nil means that none is.
	// Even then multicast and unspecified addresses are refused, and so is a cloud metadata address unless the host is
	// that address itself.
	Private func(host string, port uint16) bool
	// Connect connects to a checked address; nil means TCP. It is for tests.
	Connect func(ctx context.Context, address netip.AddrPort) (net.Conn, error)
	// Log receives refused addresses at debug level, since the error does not name them; callers report the refusal. nil
	// means that nothing is logged.
	Log hclog.Logger
}

// Refused is the error for a host with an address of a class that must not be dialed. It does not contain the address:
// plugins must not learn what names resolve to in the local network.
type Refused struct {
	Host  string
	Class Class
}

func (r *Refused) Error() string {
	remedy := "only a grant with private = true permits it"
	switch r.Class {
	case Multicast, Unspecified:
		remedy = "no grant permits it"
	case Metadata:
		remedy = "only a grant of the address itself with private = true permits it"
	}
	article := "a"
	if r.Class == Unspecified || r.Class == Tunnel {
		article = "an"
	}
	return fmt.Sprintf("%s has %s %s address: %s", r.Host, article, r.Class, remedy)
}

// Dialer connects to hosts. It is safe for concurrent use.
type Dialer struct{ config Config }

// New returns a Dialer; it does not connect.
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

// DialContext connects to "host:port" over "tcp", the only network. The error is a *Refused if any address of the host
// must not be dialed.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, fmt.Errorf("cannot dial %s: network %q is not tcp", address, network)
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
	return d.connectFirst(ctx, addresses, port)
}

func split(address string) (host string, port uint16, err error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("dial: %w", err)
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 || host == "" {
		return "", 0, fmt.Errorf("cannot dial %s: write host:port with a port from 1 to 65535", address)
	}
	return strings.ToLower(host), uint16(n), nil
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// resolve returns the addresses of host, at least one.
func (d *Dialer) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a.Unmap()}, nil
	}
	found, err := d.config.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("cannot resolve %s: %w", host, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("cannot resolve %s: %w", host, &net.DNSError{Err: "no address", Name: host, IsNotFound: true})
	}
	// Copy: the resolver may own the slice, and addresses must not change between check and use.
	addresses := make([]netip.Addr, len(found))
	for i, a := range found {
		addresses[i] = a.Unmap()
	}
	return addresses, nil
}

// allowed decides on an address by its class. literal states that the host was given as an address and not as a name.
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

// connectFirst connects to the first address that accepts.
func (d *Dialer) connectFirst(ctx context.Context, addresses []netip.Addr, port uint16) (net.Conn, error) {
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

// connect dials an address. As defense in depth, Control verifies the address that the socket is about to connect to.
func connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		return checkAddress(address, to)
	}}
	return dialer.DialContext(ctx, "tcp", to.String())
}

func checkAddress(address string, want netip.AddrPort) error {
	got, err := netip.ParseAddrPort(address)
	if err != nil || netip.AddrPortFrom(got.Addr().Unmap(), got.Port()) != want {
		return errors.New("dial: the socket connects to an address that was not checked")
	}
	return nil
}
