package schema

import (
	"net/mail"
	"net/netip"
	"net/url"
	"regexp/syntax"
	"time"
)

// formats returns the function that checks the format called name. It returns nil if drafts before 2019-09 do not assert that format,
// or if the standard library cannot parse it. Such a format is only an annotation.
func formats(name string) func(string) bool {
	switch name {
	case "date-time":
		return func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil }
	case "date":
		return func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil }
	case "email":
		return func(s string) bool { a, err := mail.ParseAddress(s); return err == nil && a.Address == s }
	case "ipv4":
		return func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }
	case "ipv6":
		return func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is6() && a.Zone() == "" }
	case "uri":
		return func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() }
	case "uri-reference":
		return func(s string) bool { _, err := url.Parse(s); return err == nil }
	case "regex":
		return func(s string) bool {
			_, err := syntax.Parse(s, syntax.Perl)
			return len(s) <= maxPattern && err == nil
		}
	}
	return nil
}
