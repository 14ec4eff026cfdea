// Package origin parses and normalizes the origin of a URL: scheme, host and port. Parse parses an origin from a
// manifest or config, and Of returns the origin of a parsed URL.
//
// Parse and Of normalize unambiguous differences (case, default port, forms of an IPv6 address), and refuse URLs that
// programs interpret differently (user names, trailing dots, numbers that some programs take for addresses, non-ASCII
// characters). A comparison of origins is therefore consistent with the address that is dialed and with the Host header.
package origin

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxHost is the limit of DNS for a host name in bytes.
const maxHost = 253

// Origin is a normalized origin, comparable with ==. The zero value is not a valid origin.
type Origin struct {
	Scheme string // "https" or "http"
	Host   string // a name in lower case, or an IP address in its shortest form, without brackets
	Port   uint16 // never 0; the default port of the scheme if the URL has none
}

// Parse parses an origin: "https://host" or "https://host:port", with an optional trailing slash. Errors do not
// repeat text, which may contain a password.
func Parse(text string) (Origin, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Origin{}, errNoURL
	}
	o, err := Of(u)
	if err != nil {
		return Origin{}, err
	}
	if u.Path != "" && u.Path != "/" || strings.ContainsAny(text, "?#") {
		return Origin{}, errors.New("contains more than an origin: write only scheme, host and, if needed, port")
	}
	return o, nil
}

var errNoURL = errors.New("is not the URL of a web server: write https://host or http://host")

// Of returns a URL's origin. Errors do not repeat the URL.
func Of(u *url.URL) (Origin, error) {
	if u.Scheme != "https" && u.Scheme != "http" || u.Opaque != "" || u.Host == "" {
		return Origin{}, errNoURL
	}
	if u.User != nil {
		return Origin{}, errors.New("has a user name: remove it")
	}
	host, err := hostOf(u.Host)
	if err != nil {
		return Origin{}, err
	}
	port, err := portOf(u)
	if err != nil {
		return Origin{}, err
	}
	return Origin{Scheme: u.Scheme, Host: host, Port: port}, nil
}

// Authority returns host and port as in a URL, without a default port.
func (o Origin) Authority() string {
	host := o.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if o.Port == defaultPort(o.Scheme) {
		return host
	}
	return fmt.Sprintf("%s:%d", host, o.Port)
}

// OnDefaultPort reports whether the origin has its scheme's default port: 80 for http, 443 for https.
func (o Origin) OnDefaultPort() bool { return o.Scheme != "" && o.Port == defaultPort(o.Scheme) }

// String formats the origin as Parse accepts it.
func (o Origin) String() string { return o.Scheme + "://" + o.Authority() }

func defaultPort(scheme string) uint16 {
	if scheme == "http" {
		return 80
	}
	return 443
}

func portOf(u *url.URL) (uint16, error) {
	digits := u.Port()
	if digits == "" {
		if strings.HasSuffix(u.Host, ":") {
			return 0, errors.New("has a colon without a port: remove the colon")
		}
		return defaultPort(u.Scheme), nil
	}
	port, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || digits[0] == '0' {
		return 0, errors.New("has a port that is not a number from 1 to 65535")
	}
	return uint16(port), nil
}

func hostOf(authority string) (string, error) {
	if strings.HasPrefix(authority, "[") {
		end := strings.IndexByte(authority, ']')
		if end < 0 {
			return "", errNoURL
		}
		return parseIPv6(authority[1:end])
	}
	name, _, _ := strings.Cut(authority, ":")
	name = strings.ToLower(name)
	if err := checkName(name); err != nil {
		return "", err
	}
	return name, nil
}

func parseIPv6(literal string) (string, error) {
	a, err := netip.ParseAddr(literal)
	switch {
	case err != nil || !a.Is6():
		return "", errors.New("has no IPv6 address between its brackets")
	case a.Zone() != "":
		return "", errors.New("has an address with a zone: remove the zone")
	case a.Is4In6():
		return "", errors.New("has an IPv4 address written as IPv6: write it as IPv4")
	}
	return a.String(), nil
}

func checkName(name string) error {
	if len(name) > maxHost {
		return fmt.Errorf("has a host of %d bytes: a name has at most %d", len(name), maxHost)
	}
	if strings.HasSuffix(name, ".") {
		return errors.New("has a host that ends in a dot: remove the dot")
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 {
			return errors.New("has a host with an empty part, or a part of more than 63 bytes")
		}
		if strings.IndexFunc(label, isInvalid) >= 0 {
			return errors.New("has a host with characters other than letters, digits, - and _: write an international name in its xn-- form")
		}
		last = label
	}
	// inet_aton parses "127.1", "0x7f.1" and "2130706433" as addresses; other resolvers treat them as names.
	if _, err := netip.ParseAddr(name); err != nil && isNumeric(last) {
		return errors.New("has a host that ends in a number and is not an IPv4 address of four plain numbers")
	}
	return nil
}

// isInvalid reports whether r is invalid in a lower-case host name.
func isInvalid(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

func isNumeric(label string) bool {
	if digits, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(digits, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
