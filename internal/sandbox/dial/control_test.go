package dial

import (
	"net/netip"
	"testing"
)

func TestSocketConnectsOnlyToCheckedAddress(t *testing.T) {
	for name, c := range map[string]struct {
		socket, checked string
		ok              bool
	}{
		"the same address":              {"93.184.216.34:443", "93.184.216.34:443", true},
		"the same in IPv6":              {"[2606:2800::1]:443", "[2606:2800::1]:443", true},
		"the same written as IPv6":      {"[::ffff:93.184.216.34]:443", "93.184.216.34:443", true},
		"the same with its zone":        {"[fe80::1%lo]:443", "[fe80::1%lo]:443", true},
		"another address":               {"127.0.0.1:443", "93.184.216.34:443", false},
		"another port":                  {"93.184.216.34:22", "93.184.216.34:443", false},
		"another zone":                  {"[fe80::1%eth0]:443", "[fe80::1%lo]:443", false},
		"something that is no address":  {"a.example:443", "93.184.216.34:443", false},
		"a socket of the local machine": {"/run/x.sock", "93.184.216.34:443", false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkAddress(c.socket, netip.MustParseAddrPort(c.checked)); (err == nil) != c.ok {
				t.Errorf("got the error %v, want an error: %t", err, !c.ok)
			}
		})
	}
}
