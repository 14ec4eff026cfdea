package dial_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
	"github.com/google/go-cmp/cmp"
)

// names is a resolver. Each lookup of a host returns the next of its answers; the last answer repeats.
type names struct {
	answers map[string][]string // answers to lookups of a name; an answer consists of addresses separated by blanks
	lookups int
}

func (n *names) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	n.lookups++
	if network != "ip" {
		return nil, errors.New("lookup for the network " + network + " instead of ip")
	}
	answers, ok := n.answers[host]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		n.answers[host] = answers[1:]
	}
	var out []netip.Addr
	for _, a := range strings.Fields(answers[0]) {
		out = append(out, netip.MustParseAddr(a))
	}
	return out, nil
}

// network replaces TCP: it records dialed addresses, and accepts those that are neither in dead (refused) nor in silent (no
// answer).
type network struct {
	dialed       []string
	dead, silent []string
}

func (n *network) connect(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	n.dialed = append(n.dialed, to.String())
	switch {
	case slices.Contains(n.silent, to.String()):
		<-ctx.Done()
		return nil, ctx.Err()
	case slices.Contains(n.dead, to.String()):
		return nil, errors.New("connection refused")
	}
	a, b := net.Pipe()
	b.Close()
	return a, nil
}

func TestOnlyCheckedAddressesAreDialed(t *testing.T) {
	granted := func(host string, port uint16) bool {
		return port == 80 && slices.Contains([]string{"intranet", "127.0.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1"}, host)
	}
	for name, c := range map[string]struct {
		answer, address string
		dialed          string
		refused         dial.Class
	}{
		"a public address":                                   {answer: "93.184.216.34", address: "a.example:443", dialed: "93.184.216.34:443"},
		"the first of two public ones":                       {answer: "2606:2800::1 93.184.216.34", address: "a.example:443", dialed: "[2606:2800::1]:443"},
		"a public one written as IPv6":                       {answer: "::ffff:93.184.216.34", address: "a.example:443", dialed: "93.184.216.34:443"},
		"loopback is refused":                                {answer: "127.0.0.1", address: "a.example:443", refused: dial.Loopback},
		"one private address among public ones refuses all":  {answer: "93.184.216.34 10.0.0.1", address: "a.example:443", refused: dial.Private},
		"loopback written as IPv6 is refused":                {answer: "::ffff:127.0.0.1", address: "a.example:443", refused: dial.Loopback},
		"a literal is checked too":                           {address: "10.1.2.3:443", refused: dial.Private},
		"a literal with a zone is checked too":               {address: "[fe80::1%lo]:80", refused: dial.LinkLocal},
		"a public literal":                                   {address: "[2606:2800::1]:443", dialed: "[2606:2800::1]:443"},
		"a private grant reaches a private address":          {answer: "10.0.0.1", address: "intranet:80", dialed: "10.0.0.1:80"},
		"a private grant reaches loopback":                   {answer: "127.0.0.1", address: "intranet:80", dialed: "127.0.0.1:80"},
		"a private grant is for its port":                    {answer: "10.0.0.1", address: "intranet:81", refused: dial.Private},
		"a private grant is for its host, not the address":   {answer: "127.0.0.1", address: "a.example:80", refused: dial.Loopback},
		"a private grant of a name in upper case":            {answer: "10.0.0.1", address: "INTRANET:80", dialed: "10.0.0.1:80"},
		"a private grant of an address":                      {address: "127.0.0.1:80", dialed: "127.0.0.1:80"},
		"a private grant of a name does not reach metadata":  {answer: "169.254.169.254", address: "intranet:80", refused: dial.Metadata},
		"a private grant of the metadata address reaches it": {address: "169.254.169.254:80", dialed: "169.254.169.254:80"},
		"no grant reaches the unspecified address":           {address: "0.0.0.0:80", refused: dial.Unspecified},
		"no grant reaches multicast":                         {address: "224.0.0.1:80", refused: dial.Multicast},
	} {
		t.Run(name, func(t *testing.T) {
			host, _, _ := net.SplitHostPort(strings.ToLower(c.address))
			net := &network{}
			d := dial.New(dial.Config{Resolver: &names{answers: map[string][]string{host: {c.answer}}}, Private: granted, Connect: net.connect})
			conn, err := d.DialContext(t.Context(), "tcp", c.address)
			if conn != nil {
				conn.Close()
			}
			if got := strings.Join(net.dialed, " "); got != c.dialed {
				t.Errorf("dialed %q, want %q", got, c.dialed)
			}
			var refused *dial.Refused
			switch {
			case c.refused == "" && err != nil:
				t.Error(err)
			case c.refused != "" && (!errors.As(err, &refused) || refused.Class != c.refused || refused.Host != host):
				t.Errorf("got the error %v, want %s refused as %s", err, host, c.refused)
			}
		})
	}
}

// The checked addresses are dialed without a second query, so DNS rebinding has no effect.
func TestNameIsResolvedOncePerConnection(t *testing.T) {
	resolver := &names{answers: map[string][]string{"rebind.example": {"93.184.216.34", "127.0.0.1"}}}
	net := &network{}
	d := dial.New(dial.Config{Resolver: resolver, Connect: net.connect})
	conn, err := d.DialContext(t.Context(), "tcp", "rebind.example:80")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if diff := cmp.Diff([]string{"93.184.216.34:80"}, net.dialed); diff != "" || resolver.lookups != 1 {
		t.Errorf("%d lookups, want 1; dialed addresses (-want +got):\n%s", resolver.lookups, diff)
	}
	_, err = d.DialContext(t.Context(), "tcp", "rebind.example:80")
	var refused *dial.Refused
	if !errors.As(err, &refused) || refused.Class != dial.Loopback || len(net.dialed) != 1 {
		t.Errorf("the second connection: got the error %v, want loopback refused; dialed in total %q, want one address", err, net.dialed)
	}
}

// A resolver that modifies its slice after the check has no effect.
func TestAddressesCannotChangeAfterCheck(t *testing.T) {
	answer := []netip.Addr{netip.MustParseAddr("93.184.216.34")}
	net := &network{}
	d := dial.New(dial.Config{
		Resolver: resolverFunc(func() []netip.Addr { return answer }),
		Private: func(string, uint16) bool {
			answer[0] = netip.MustParseAddr("127.0.0.1")
			return false
		},
		Connect: net.connect,
	})
	conn, err := d.DialContext(t.Context(), "tcp", "a.example:80")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if diff := cmp.Diff([]string{"93.184.216.34:80"}, net.dialed); diff != "" {
		t.Error(diff)
	}
}

type resolverFunc func() []netip.Addr

func (f resolverFunc) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return f(), nil
}

func TestNextAddressIsTriedAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{dead: []string{"93.184.216.1:80"}, silent: []string{"93.184.216.2:80"}}
		d := dial.New(dial.Config{
			Resolver: &names{answers: map[string][]string{"a.example": {"93.184.216.1 93.184.216.2 93.184.216.3"}}},
			Connect:  net.connect,
		})
		start := time.Now()
		conn, err := d.DialContext(t.Context(), "tcp", "a.example:80")
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if diff := cmp.Diff([]string{"93.184.216.1:80", "93.184.216.2:80", "93.184.216.3:80"}, net.dialed); diff != "" {
			t.Error(diff)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("DialContext took %v, want at most 10 s", took)
		}
	})
}

func TestAtMostEightAddressesAreTried(t *testing.T) {
	answer, dead := "", []string(nil)
	for _, last := range strings.Fields("1 2 3 4 5 6 7 8 9 10") {
		answer += " 93.184.216." + last
		dead = append(dead, "93.184.216."+last+":80")
	}
	net := &network{dead: dead}
	d := dial.New(dial.Config{Resolver: &names{answers: map[string][]string{"a.example": {answer}}}, Connect: net.connect})
	if _, err := d.DialContext(t.Context(), "tcp", "a.example:80"); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got the error %v", err)
	}
	if diff := cmp.Diff(dead[:8], net.dialed); diff != "" {
		t.Error(diff)
	}
}

func TestCanceledDialEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		net := &network{silent: []string{"93.184.216.1:80"}}
		d := dial.New(dial.Config{Resolver: &names{answers: map[string][]string{"a.example": {"93.184.216.1 93.184.216.2"}}}, Connect: net.connect})
		_, err := d.DialContext(ctx, "tcp", "a.example:80")
		if !errors.Is(err, context.DeadlineExceeded) || len(net.dialed) != 1 {
			t.Errorf("got the error %v after dialing %q", err, net.dialed)
		}
	})
}

func TestUnresponsiveHostTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := &network{silent: []string{"93.184.216.1:80"}}
		d := dial.New(dial.Config{Resolver: &names{answers: map[string][]string{"a.example": {"93.184.216.1"}}}, Connect: net.connect})
		start := time.Now()
		_, err := d.DialContext(t.Context(), "tcp", "a.example:80")
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
			t.Errorf("got the error %v after %v", err, took)
		}
	})
}

func TestNonTCPAddressesFail(t *testing.T) {
	for name, c := range map[string]struct{ network, address, want string }{
		"another network":        {"udp", "a.example:53", "is not tcp"},
		"a socket of the system": {"unix", "/run/x", "is not tcp"},
		"no port":                {"tcp", "a.example", "missing port"},
		"port zero":              {"tcp", "a.example:0", "port from 1 to 65535"},
		"a port by name":         {"tcp", "a.example:http", "port from 1 to 65535"},
		"a port that wraps":      {"tcp", "a.example:65616", "port from 1 to 65535"},
		"no host":                {"tcp", ":80", "write host:port"},
		"an unknown host":        {"tcp", "nowhere.example:80", "no such host"},
		"a host without address": {"tcp", "empty.example:80", "no address"},
	} {
		t.Run(name, func(t *testing.T) {
			net := &network{}
			d := dial.New(dial.Config{Resolver: &names{answers: map[string][]string{"empty.example": {""}, "a.example": {"93.184.216.34"}}}, Connect: net.connect})
			if _, err := d.DialContext(t.Context(), c.network, c.address); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want %q in it", err, c.want)
			}
			if len(net.dialed) != 0 {
				t.Errorf("dialed %q, want no address", net.dialed)
			}
		})
	}
}

func TestRefusalNamesClassButNotAddress(t *testing.T) {
	for address, want := range map[string]string{
		"10.11.12.13":     "a private address: only a grant with private = true permits it",
		"0.0.0.0":         "an unspecified address: no grant permits it",
		"192.88.99.1":     "an obsolete tunnelling address: only a grant with private = true permits it",
		"fd00::1":         "a unique-local address: only a grant with private = true permits it",
		"169.254.169.254": "a cloud metadata address: only a grant of the address itself with private = true permits it",
	} {
		d := dial.New(dial.Config{Resolver: &names{answers: map[string][]string{"a.example": {address}}}})
		if _, err := d.DialContext(t.Context(), "tcp", "a.example:443"); err == nil || err.Error() != "a.example has "+want {
			t.Errorf("got %v, want a.example has %s", err, want)
		}
	}
}

// The connection uses a real socket on loopback.
func TestRealConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = conn.Write([]byte("hi"))
			conn.Close()
		}
	}()
	d := dial.New(dial.Config{Private: func(host string, _ uint16) bool { return host == "127.0.0.1" }})
	conn, err := d.DialContext(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); string(got) != "hi" || err != nil {
		t.Errorf("read %q, %v from the connection, want hi", got, err)
	}
	if _, err := dial.New(dial.Config{}).DialContext(t.Context(), "tcp", listener.Addr().String()); !errors.As(err, new(*dial.Refused)) {
		t.Errorf("dialing loopback without a private grant: got %v, want a *Refused", err)
	}
}
