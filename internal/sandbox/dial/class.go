package dial

import "net/netip"

// Class is the kind of network that an address belongs to. Its text is used in errors.
type Class string

// The classes. All but Public are refused unless the host is granted as private; Config.Private says which are refused
// even then.
const (
	Public        Class = "public"
	Loopback      Class = "loopback"
	Private       Class = "private"           // RFC 1918, and deprecated site-local
	Shared        Class = "carrier-grade NAT" // RFC 6598
	UniqueLocal   Class = "unique-local"      // RFC 4193
	LinkLocal     Class = "link-local"        // RFC 3927, RFC 4291
	Metadata      Class = "cloud metadata"    // services that hand credentials to cloud machines
	Multicast     Class = "multicast"
	Unspecified   Class = "unspecified"         // connects to the machine itself
	Documentation Class = "documentation"       // RFC 5737, RFC 3849, RFC 9637
	Benchmark     Class = "benchmark"           // RFC 2544, RFC 5180
	Translated    Class = "local NAT64"         // RFC 8215: the local network decides the destination
	Reserved      Class = "reserved"            // other reserved blocks of the IANA registries
	Tunnel        Class = "obsolete tunnelling" // 6to4, Teredo, IPv4-compatible
)

type block struct {
	prefix netip.Prefix
	class  Class
}

// blocks4 and blocks6 follow the registries of special-purpose addresses
// (https://www.iana.org/assignments/iana-ipv4-special-registry and …-ipv6-…) and the documentation of cloud metadata
// services. The first match wins.
var blocks4 = []block{
	{netip.MustParsePrefix("169.254.169.254/32"), Metadata}, // most clouds
	{netip.MustParsePrefix("169.254.170.0/24"), Metadata},   // credentials of containers
	{netip.MustParsePrefix("100.100.100.200/32"), Metadata},
	{netip.MustParsePrefix("168.63.129.16/32"), Metadata}, // within a block of public addresses
	{netip.MustParsePrefix("192.0.0.192/32"), Metadata},
	{netip.MustParsePrefix("0.0.0.0/8"), Unspecified},
	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("10.0.0.0/8"), Private},
	{netip.MustParsePrefix("172.16.0.0/12"), Private},
	{netip.MustParsePrefix("192.168.0.0/16"), Private},
	{netip.MustParsePrefix("100.64.0.0/10"), Shared},
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocal},
	{netip.MustParsePrefix("192.0.0.0/24"), Reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), Documentation},
	{netip.MustParsePrefix("198.51.100.0/24"), Documentation},
	{netip.MustParsePrefix("203.0.113.0/24"), Documentation},
	{netip.MustParsePrefix("192.88.99.0/24"), Tunnel}, // relays of 6to4
	{netip.MustParsePrefix("198.18.0.0/15"), Benchmark},
	{netip.MustParsePrefix("224.0.0.0/4"), Multicast},
	{netip.MustParsePrefix("240.0.0.0/4"), Reserved},
}

var blocks6 = []block{
	{netip.MustParsePrefix("fd00:ec2::/32"), Metadata},
	{netip.MustParsePrefix("fd20:ce::254/128"), Metadata},
	{netip.MustParsePrefix("fd00:42::42/128"), Metadata},
	{netip.MustParsePrefix("fe80::a9fe:a9fe/128"), Metadata},
	{netip.MustParsePrefix("::/128"), Unspecified},
	{netip.MustParsePrefix("::1/128"), Loopback},
	{netip.MustParsePrefix("fc00::/7"), UniqueLocal},
	{netip.MustParsePrefix("fe80::/10"), LinkLocal},
	{netip.MustParsePrefix("fec0::/10"), Private},
	{netip.MustParsePrefix("ff00::/8"), Multicast},
	{netip.MustParsePrefix("64:ff9b:1::/48"), Translated},
	{netip.MustParsePrefix("2001:2::/48"), Benchmark},
	{netip.MustParsePrefix("2001:db8::/32"), Documentation},
	{netip.MustParsePrefix("3fff::/20"), Documentation},
	{netip.MustParsePrefix("2001::/23"), Reserved},
	{netip.MustParsePrefix("2000::/3"), Public},
	{netip.MustParsePrefix("::/0"), Reserved}, // not allocated
}

// embeddings are the IPv6 formats that embed the IPv4 address to which packets are finally delivered. plain is the class of the
// IPv6 address if the embedded address is public.
var embeddings = []struct {
	prefix netip.Prefix
	at     int  // offset of the IPv4 address
	mask   byte // XORed with each byte of the IPv4 address
	plain  Class
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12, 0, Public}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2, 0, Tunnel},     // 6to4
	{netip.MustParsePrefix("2001::/32"), 4, 0, Tunnel},     // Teredo's server
	{netip.MustParsePrefix("2001::/32"), 12, 0xff, Tunnel}, // Teredo's client
	{netip.MustParsePrefix("::/96"), 12, 0, Tunnel},        // IPv4-compatible
}

// Classify returns the class of an address. If the address embeds an IPv4 address, the embedded address is classified instead; of
// several embedded addresses, the first that is not public. An invalid address is Reserved.
func Classify(a netip.Addr) Class {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid():
		return Reserved
	case a.Is4():
		return lookup(blocks4, a, Public)
	case a == netip.IPv6Unspecified() || a == netip.IPv6Loopback():
		return lookup(blocks6, a, Reserved)
	}
	class := Class("")
	for _, e := range embeddings {
		if !e.prefix.Contains(a) {
			continue
		}
		if inner := Classify(embedded(a, e.at, e.mask)); inner != Public {
			return inner
		}
		class = e.plain
	}
	if class != "" {
		return class
	}
	return lookup(blocks6, a, Reserved)
}

func embedded(a netip.Addr, at int, mask byte) netip.Addr {
	all := a.As16()
	var four [4]byte
	for i := range four {
		four[i] = all[at+i] ^ mask
	}
	return netip.AddrFrom4(four)
}

func lookup(blocks []block, a netip.Addr, fallback Class) Class {
	for _, b := range blocks {
		if b.prefix.Contains(a) {
			return b.class
		}
	}
	return fallback
}
