package config

import (
	"net/url"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
)

// readOAuth reads the keys of [http] for access tokens.
func (h *HTTPServer) readOAuth(t *tomlfile.Table) {
	h.Issuers = readNames(t, "issuers", isServerURL, `write the issuer's URL as its tokens and metadata have it: "https://login.example.com/realms/team"`)
	h.Audience = t.String("audience")
	h.OtherAudiences = readNames(t, "other_audiences", isAudience, "write what the issuer puts into the claim aud")
	h.Scopes = readNames(t, "scopes", isScope, `write the name of a scope: "mcp:use"`)
	const remedy = `write the URL of the MCP endpoint as clients see it: "https://mcp.example.com/mcp"`
	switch {
	case len(h.Issuers) > 0 && h.Audience == "":
		t.Fault("audience", "is missing, and issuers are accepted", remedy)
	case t.Has("audience") && (!isServerURL(h.Audience) || strings.HasSuffix(h.Audience, "/")):
		t.Fault("audience", "is not valid", remedy)
	}
	for _, key := range []string{"audience", "other_audiences", "scopes"} {
		if t.Has(key) && len(h.Issuers) == 0 && !t.Has("issuers") {
			t.Fault(key, "has no effect without issuers", "add issuers, or remove it")
		}
	}
}

// isServerURL reports whether a text is an absolute URL of a server, over TLS unless it is on the loopback interface. It has nothing that
// must be escaped in a header.
func isServerURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.User != nil || strings.ContainsAny(text, "?#") || len(text) > 512 || !isVisible(text) || strings.ContainsAny(text, `"\`) {
		return false
	}
	if _, err := download.Origin(u); err != nil {
		return false
	}
	return u.Host == strings.ToLower(u.Host)
}

func isAudience(text string) bool { return text != "" && len(text) <= 512 && isVisible(text) }

// isScope reports whether a text is a scope-token of RFC 6749.
func isScope(text string) bool {
	return text != "" && len(text) <= 128 && isVisible(text) && !strings.ContainsAny(text, `"\`)
}

func isVisible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// AllHosts returns the accepted values of the header Host: Hosts, and the host of the audience.
func (h *HTTPServer) AllHosts() []string {
	u, err := url.Parse(h.Audience)
	if err != nil || h.Audience == "" {
		return h.Hosts
	}
	return append(slices.Clone(h.Hosts), u.Hostname())
}
