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

const originRemedy = `write scheme, host and, if need be, port: "https://api.example.com"`

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
		var err error
		if out[i].Origin, err = origin.Parse(text); err != nil {
			fault(err.Error(), originRemedy) // the message omits the origin as written, which may contain a password
			continue
		}
		if slices.ContainsFunc(out[:i], func(h HTTP) bool { return h.Origin == out[i].Origin }) {
			fault(fmt.Sprintf("%s is a duplicate", out[i].Origin), "remove one")
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
	requested, all := map[origin.Origin]bool{}, false
	for _, text := range c.m.Capabilities.HTTP {
		if o, err := origin.Parse(text); err == nil {
			requested[o] = true
		} else if text == manifest.Any {
			all = true
		}
	}
	if c.p.HTTP == nil {
		c.requestedOrigins(all)
		return
	}
	for i, h := range c.p.HTTP {
		if !all && !requested[h.Origin] {
			what := fmt.Sprintf("%s does not ask for %s", c.m.Name, h.Origin)
			if len(requested) > 0 {
				what += "; it asks for " + strings.Join(c.m.Capabilities.HTTP, ", ")
			}
			c.fault(fmt.Sprintf("http[%d]", i), what, "remove it")
			continue
		}
		if !h.Private && IsLocal(h.Origin.Host) {
			c.warn(fmt.Sprintf("http[%d]", i), fmt.Sprintf("%s is on this machine or its network, and is refused without private = true", h.Origin),
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
			continue // the item is "*", the only valid request that is not an origin
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
		case err != nil: // the item is "*"
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
