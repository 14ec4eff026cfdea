package install

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// TrustedSource is a signed file that a config names.
type TrustedSource struct {
	From string `json:"from"`
	Key  string `json:"key"`
}

// describe describes what the config has besides plugins.
func (p *TrustProposal) describe(view *catalog.Catalog) {
	if view.Audit != nil {
		p.audit, p.Audit, p.AuditAlso = view.Audit, view.Audit.File, view.Audit.Also
	}
	for _, t := range view.Audit.Telemetry() {
		p.Telemetry = append(p.Telemetry, t.Text)
	}
	p.HTTP = describeHTTP(view.HTTP)
	p.Clients = view.Clients.Describe()
	for _, c := range view.Credentials {
		name := c.Name
		if c.Command != nil {
			name += " (" + config.Secret{Command: c.Command}.String() + ")"
		}
		p.Credentials = append(p.Credentials, name)
	}
	p.addSources(view.Sources)
}

// addSources describes [sources].
func (p *TrustProposal) addSources(s config.Sources) {
	p.Catalogues, p.Revocations = trustedSources(s.Catalogues), trustedSources(s.Revocations)
	for _, pinned := range s.Keys {
		if p.Keys == nil {
			p.Keys = map[string][]string{}
		}
		p.Keys[pinned.Names] = []string{}
		for _, key := range pinned.Keys {
			p.Keys[pinned.Names] = append(p.Keys[pinned.Names], key.String())
		}
	}
}

func trustedSources(files []config.SignedFile) (out []TrustedSource) {
	for _, f := range files {
		label := "an address that is not valid" // which can contain a secret
		if at, err := source.ParseDocument(f.From); err == nil {
			label = at.Address()
		}
		out = append(out, TrustedSource{label, f.Key.String()})
	}
	return out
}

// LacksRevocations reports whether to say that the config names no list of revoked plugins: if it says where plugins come from, and if it has
// changed, since a list may have been removed from it.
func (p *TrustProposal) LacksRevocations() bool {
	isFetched := func(plugin explain.PluginPolicy) bool { return plugin.From != "" }
	return p.Kind == TrustConfig && len(p.Revocations) == 0 &&
		(p.State == Changed || len(p.Catalogues) > 0 || len(p.Keys) > 0 || slices.ContainsFunc(p.Plugins, isFetched))
}

// describeHTTP describes [http].
func describeHTTP(h *config.HTTPServer) []string {
	if h == nil {
		return nil
	}
	var out []string
	switch {
	case h.TokenFile != "":
		out = append(out, "token in "+h.TokenFile)
	case h.TokenEnv != "":
		out = append(out, "token in $"+h.TokenEnv)
	}
	if h.Tokens {
		out = append(out, "named tokens")
	}
	for _, issuer := range h.Issuers {
		out = append(out, "tokens of "+issuer+" for "+h.Audience)
	}
	if len(out) == 0 {
		out = append(out, "no token")
	}
	if h.StateKeys != "" {
		out = append(out, "state keys in "+h.StateKeys)
	}
	if h.CertFile != "" {
		out = append(out, "TLS with "+h.CertFile)
	}
	if h.Insecure {
		out = append(out, "plaintext beyond loopback")
	}
	for _, name := range h.Hosts {
		out = append(out, "host "+name)
	}
	for _, name := range h.Origins {
		out = append(out, "origin "+name)
	}
	return out
}
