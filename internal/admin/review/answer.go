package review

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/dial"
)

// Answer states whether one thing is allowed for a plugin, and the reason.
type Answer struct {
	Plugin  string `json:"plugin"`
	Asked   string `json:"asked"`            // the path, origin, variable or tool that the question is about
	Access  string `json:"access,omitempty"` // "read" or "write", if the answer depends on that
	Allowed bool   `json:"allowed"`
	Why     string `json:"why"`
	// At are the lines that decide, if Why names some.
	At []config.Position `json:"-"`
	// Rule is the rule of package sandbox that decides on a path, and Mount the granted directory that contains the path; empty: none does.
	Rule  string `json:"-"`
	Mount string `json:"-"`
}

// Origin states whether the plugin may send requests to the web server at o.
func (s Subject) Origin(o origin.Origin) Answer {
	a := Answer{Asked: o.String()}
	i := config.FindHTTP(s.Grant.HTTP, config.HTTP{Origin: o})
	named := slices.Contains(normalizeOrigins(s.Manifest.Capabilities.HTTP), o.String())
	public := slices.Contains(s.Manifest.Capabilities.HTTP, manifest.PublicWeb) && o.OnDefaultPort()
	wildcard := slices.Contains(s.Manifest.Capabilities.HTTP, manifest.Any)
	cut := s.cutBy("http", o.String())
	if cut.By == "" && o.OnDefaultPort() {
		cut = s.cutBy("http", manifest.PublicWeb)
	}
	switch {
	case i < 0 && cut.By != "":
		a.Why, a.At = cut.By, cut.At
	case i >= 0 && s.Grant.HTTP[i].PublicWeb && !isPublic(o.Host):
		a.Why = fmt.Sprintf("%s is not a public address, and the public web is all that http (%s) grants", o.Host, s.Entry.At("http"))
	case i >= 0:
		a.Allowed, a.Why = true, s.originBy(s.Grant.HTTP[i]).By
		if !s.Grant.HTTP[i].Private {
			a.Why += "; refused if the name resolves to this machine or its network, because the grant does not have private = true"
		}
	case !named && !public && !wildcard:
		a.Why = s.Manifest.Name + " does not ask for it, so nothing can grant it"
	case s.Config == "":
		a.Why = "only a config file can grant a web server: " + example("http = [%q]", o)
	case s.Entry.HTTP == nil && public:
		a.Why = s.Manifest.Name + " asks for the public web, and gets it from a config that says so: " + example("http = [%q]", manifest.PublicWeb)
	case s.Entry.HTTP == nil:
		a.Why = s.Manifest.Name + " asks for any web server, and gets those that the config names: " + example("http = [%q]", o)
	case config.IsLocal(o.Host):
		a.Why = fmt.Sprintf("not in http (%s): add { origin = %q, private = true } there", s.Entry.At("http"), o)
	default:
		a.Why = fmt.Sprintf("not in http (%s): add %q there", s.Entry.At("http"), o)
	}
	return a
}

// isPublic reports whether a host is, as far as its name tells, not this machine or another one that is not in the public web.
func isPublic(host string) bool {
	a, err := netip.ParseAddr(host)
	return err != nil && !config.IsLocal(host) || err == nil && dial.Classify(a) == dial.Public
}

// Variable states whether the plugin sees the environment variable called name.
func (s Subject) Variable(name string) Answer {
	a := Answer{Asked: name}
	requested := s.Manifest.Capabilities.Env
	_, granted := s.Grant.Env[name]
	_, secret := s.Grant.Secrets[name]
	granted = granted || secret
	cut := s.cutBy("env", name).By
	switch {
	case !granted && cut != "":
		a.Why = cut
	case granted:
		a.Allowed, a.Why = true, s.variableBy(name).By
	case manifest.IsVariable(name) && manifest.CheckEnv(name) != nil:
		a.Allowed = manifest.SetByHost(name)
		if a.Why = "the host sets it for every plugin"; !a.Allowed {
			a.Why = "such names are reserved for the host"
		}
	case !slices.Contains(requested, name) && !slices.Contains(requested, manifest.Any):
		a.Why = s.Manifest.Name + " does not ask for it, so nothing can grant it"
	default:
		a.Why = fmt.Sprintf("it has no value: pass --env %s, or %s", name, example(`env = { %s = "…" }`, name))
	}
	return a
}
