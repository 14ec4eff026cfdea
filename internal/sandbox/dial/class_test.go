package dial_test

import (
	"net/netip"
	"testing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
)

func TestClassify(t *testing.T) {
	for class, addresses := range map[dial.Class][]string{
		dial.Public: {"1.1.1.1", "93.184.216.34", "11.0.0.1", "172.15.255.255", "172.32.0.0", "100.63.255.255", "100.128.0.0",
			"223.255.255.255", "2606:2800::1", "2a00:1450::1", "::ffff:8.8.8.8", "64:ff9b::808:808"},
		dial.Loopback:      {"127.0.0.1", "127.255.255.255", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::1"},
		dial.Private:       {"10.0.0.0", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:c0a8:1::", "fec0::1"},
		dial.Shared:        {"100.64.0.0", "100.127.255.255", "::ffff:100.64.0.1"},
		dial.UniqueLocal:   {"fc00::1", "fdff:ffff::1"},
		dial.LinkLocal:     {"169.254.0.1", "fe80::1", "fe80::1%eth0", "febf::1", "::ffff:169.254.1.1"},
		dial.Metadata:      {"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe%eth0", "::ffff:169.254.169.254", "::169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::"},
		dial.Multicast:     {"224.0.0.1", "239.255.255.255", "ff02::1", "::ffff:224.0.0.1"},
		dial.Unspecified:   {"0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0", "64:ff9b::", "2002::1"},
		dial.Documentation: {"192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1"},
		dial.Benchmark:     {"198.18.0.1", "198.19.255.255", "2001:2::1"},
		dial.Translated:    {"64:ff9b:1::808:808"},
		dial.Reserved:      {"192.0.0.8", "240.0.0.1", "255.255.255.255", "2001:10::1", "2001:20::1", "100::1", "4000::1", "5f00::1", "fe00::1"},
		dial.Tunnel:        {"192.88.99.1", "::808:808", "2002:808:808::1", "2001:0:808:808::f7f7:f7f7"},
	} {
		for _, a := range addresses {
			if got := dial.Classify(netip.MustParseAddr(a)); got != class {
				t.Errorf("%s is %s, want %s", a, got, class)
			}
		}
	}
	if got := dial.Classify(netip.Addr{}); got != dial.Reserved {
		t.Errorf("the invalid address is %s, want %s", got, dial.Reserved)
	}
}

// Both addresses in a Teredo address are classified: the server's, and the client's, which is stored inverted.
func TestClassifyTeredo(t *testing.T) {
	for address, want := range map[string]dial.Class{
		"2001:0:7f00:1::f7f7:f7f7":  dial.Loopback,
		"2001:0:808:808::80ff:fffe": dial.Loopback,
		"2001:0:808:808::f5ff:fffe": dial.Private,
	} {
		if got := dial.Classify(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is %s, want %s", address, got, want)
		}
	}
}

// An address that package netip classifies as not public is never Public, in any embedding.
func FuzzClassify(f *testing.F) {
	for _, seed := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "8.8.8.8", "::1", "fe80::1", "64:ff9b::7f00:1", "2002:7f00:1::", "ff02::1"} {
		f.Add(netip.MustParseAddr(seed).AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		forms := []netip.Addr{a}
		if a.Is4() {
			four := a.As4()
			forms = append(forms, netip.AddrFrom16(a.As16()),
				netip.AddrFrom16([16]byte{0x20, 0x02, four[0], four[1], four[2], four[3]}),
				netip.AddrFrom16([16]byte{0x00, 0x64, 0xff, 0x9b, 12: four[0], 13: four[1], 14: four[2], 15: four[3]}))
		}
		plain := a.Unmap()
		local := plain.IsLoopback() || plain.IsPrivate() || plain.IsLinkLocalUnicast() || plain.IsMulticast() || plain.IsUnspecified() || !plain.IsGlobalUnicast()
		for _, form := range forms {
			if got := dial.Classify(form); local && got == dial.Public {
				t.Errorf("%s is classified as %s, although it embeds %s, which is not public", form, got, a)
			}
		}
	})
}
