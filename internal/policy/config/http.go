package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

const originRemedy = `write scheme, host and, if need be, port: "https://api.example.com"; or "public-web" for all public web servers`

// PublicWebWords describe the grant manifest.PublicWeb.
const PublicWebWords = "any public web server (http on port 80, https on port 443)"

// String formats h as an item of the key http, without its further properties.
func (h HTTP) String() string {
	if h.PublicWeb {
		return manifest.PublicWeb
	}
	return h.Origin.String()
}

// Allows reports whether h includes other. It does not compare Private and Credential, which belong to one origin.
func (h HTTP) Allows(other HTTP) bool {
	return h.PublicWeb == other.PublicWeb && h.Origin == other.Origin || h.PublicWeb && other.Origin.OnDefaultPort()
}

// FindHTTP returns the index of the item of list that decides on h: h itself, else one that includes h; -1 if there is none.
func FindHTTP(list []HTTP, h HTTP) int {
	same := func(have HTTP) bool { return have.PublicWeb == h.PublicWeb && have.Origin == h.Origin }
	if i := slices.IndexFunc(list, same); i >= 0 {
		return i
	}
	return slices.IndexFunc(list, func(have HTTP) bool { return have.Allows(h) })
}

// parseHTTP parses an item of the key http.
func parseHTTP(text string) (HTTP, error) {
	if text == manifest.PublicWeb {
		return HTTP{PublicWeb: true}, nil
	}
	o, err := origin.Parse(text)
	return HTTP{Origin: o}, err
}

// readHTTP reads the origins of a plugin's table. The result is nil if the key http is absent, and empty but not nil if its array is
// empty.
func (c *Config) readHTTP(t *tomlfile.Table) []HTTP {
	items := t.Items("http")
	if items == nil {
		return nil
	}
	out := make([]HTTP, len(items))
	for i, item := range items {
		text, fault := item.Text, func(what, remedy string) { t.FaultItem("http", i, what, remedy) }
		if in := item.Table; in != nil {
			text = in.Required("origin", originRemedy)
			out[i].Private = in.Bool("private", false)
			if name := in.String("credential"); in.Has("credential") {
				if out[i].Credential = c.credential(name); out[i].Credential == nil {
					in.Fault("credential", fmt.Sprintf("there is no [credentials.%s]", tomlfile.Key(name)), "add it, or correct the name")
				}
			}
		}
		if item.Wrong || text == "" && item.Table != nil {
			continue // already reported when the item was parsed
		}
		parsed, err := parseHTTP(text)
		if err != nil {
			fault(err.Error(), originRemedy) // the message omits the origin as written, which may contain a password
			continue
		}
		out[i].Origin, out[i].PublicWeb = parsed.Origin, parsed.PublicWeb
		if parsed.PublicWeb && item.Table != nil {
			fault("is not an origin, so it has neither private nor a credential", `write it as a string, "public-web"`)
		}
		if slices.ContainsFunc(out[:i], func(h HTTP) bool { return h.String() == parsed.String() }) {
			fault(fmt.Sprintf("%s is a duplicate", parsed), "remove one")
		}
		if out[i].Credential != nil && out[i].Origin.Scheme == "http" && !out[i].Private {
			fault("would send a credential over plain http", `write "https://…", or private = true if the server is on this machine or its network`)
		}
	}
	return out
}

// origins grants the origins that the config names and the manifest requests. If the config has no http, it grants those that the
// manifest names.
func (c *decision) origins() {
	var requested []HTTP
	all := slices.Contains(c.m.Capabilities.HTTP, manifest.Any)
	for _, text := range c.m.Capabilities.HTTP {
		if h, err := parseHTTP(text); err == nil {
			requested = append(requested, h)
		}
	}
	if c.p.HTTP == nil {
		c.requestedOrigins(all)
		return
	}
	for i, h := range c.p.HTTP {
		i, item := FindHTTP(requested, h), i
		switch {
		case all && !h.PublicWeb:
		case i >= 0 && h.Private && requested[i].PublicWeb:
			c.fault(fmt.Sprintf("http[%d]", item), fmt.Sprintf("%s asks for the public web, which %s with private = true is not part of", c.m.Name, h), "remove private, or the item")
			continue
		case i < 0:
			what := fmt.Sprintf("%s does not ask for %s", c.m.Name, h)
			if len(requested) > 0 {
				what += "; it asks for " + strings.Join(c.m.Capabilities.HTTP, ", ")
			}
			c.fault(fmt.Sprintf("http[%d]", item), what, "remove it")
			continue
		}
		if !h.Private && IsLocal(h.Origin.Host) {
			c.warn(fmt.Sprintf("http[%d]", item), fmt.Sprintf("%s is on this machine or its network, and is refused without private = true", h.Origin),
				fmt.Sprintf("write { origin = %q, private = true }", h.Origin))
		}
		c.grant.HTTP = append(c.grant.HTTP, h)
	}
}

func (c *decision) requestedOrigins(all bool) {
	drop := func(what, remedy string) {
		c.warnDropped(c.m.Capabilities.HTTPLine, "capabilities.http", what, remedy)
	}
	// The key http in a config replaces all origins of the manifest, so a remedy names all of them.
	remedy := func(example ...string) string {
		return fmt.Sprintf("write http = [%s] for the plugin in %s", strings.Join(slices.Concat(c.namedOrigins(), example), ", "), FileName)
	}
	var named []string
	for _, text := range c.m.Capabilities.HTTP {
		o, err := origin.Parse(text)
		if err != nil {
			continue // the item is "*" or "public-web", the only valid requests that are not origins
		}
		named = append(named, tomlfile.Text(o.String()))
		if !c.configured() {
			continue
		}
		c.grant.HTTP = append(c.grant.HTTP, HTTP{Origin: o})
		if IsLocal(o.Host) {
			drop(fmt.Sprintf("asks for %s, which is on this machine or its network and needs private = true", o), remedy())
		}
	}
	if slices.Contains(c.m.Capabilities.HTTP, manifest.PublicWeb) {
		drop("asks for "+PublicWebWords+", which only a config file that says so grants", remedy(tomlfile.Text(manifest.PublicWeb)))
	}
	if all {
		drop("asks for any origin, but is granted only those that a config file names", remedy(`"https://…"`))
	}
	if len(named) > 0 && !c.configured() {
		drop("asks for "+strings.Join(named, ", ")+", which only a config file can grant", c.addRemedy())
	}
}

// namedOrigins returns the origins that the manifest names, formatted as items of the key http in a config.
func (c *decision) namedOrigins() []string {
	var out []string
	for _, text := range c.m.Capabilities.HTTP {
		o, err := origin.Parse(text)
		switch {
		case err != nil: // the item is "*" or "public-web"
		case IsLocal(o.Host):
			out = append(out, fmt.Sprintf("{ origin = %q, private = true }", o))
		default:
			out = append(out, fmt.Sprintf("%q", o))
		}
	}
	return out
}

// IsLocal reports whether host is this machine or on its network. It judges by the name or address alone, without a DNS lookup.
func IsLocal(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsUnspecified()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
