package install

import (
	"maps"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/ready"
)

// checkGrants returns an error if a variable or the public web of wanted is in no table that Write adds. c is the resulting config.
func (s *Setup) checkGrants(c *config.Config, wanted Preparation) error {
	web := func(h config.HTTP) bool { return h.PublicWeb }
	if wanted.PublicWeb && !slices.ContainsFunc(c.Plugins, func(p config.Plugin) bool { return slices.ContainsFunc(p.HTTP, web) }) {
		return usage.Errorf("--public-web has no effect: no plugin that is added requests the public web, and init does not change existing tables: remove the flag, or write http = [%q] in %s",
			manifest.PublicWeb, s.Config)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted.Env)) {
		granted := func(p config.Plugin) bool {
			_, ok := p.Env[name]
			_, secret := p.Secrets[name]
			return ok || secret
		}
		var added, existing []string
		for _, p := range s.Plugins {
			if p.InConfig {
				existing = append(existing, p.Name)
			} else {
				added = append(added, p.Name)
			}
		}
		if slices.ContainsFunc(c.Plugins, func(p config.Plugin) bool { return slices.Contains(added, p.Name) && granted(p) }) {
			continue
		}
		if len(existing) > 0 {
			return usage.Errorf("--env %s has no effect: no plugin that is added requests this variable, and init does not change the existing tables of %s: write env = { %[1]s = \"…\" } there, in %[3]s",
				name, strings.Join(existing, ", "), s.Config)
		}
		return usage.Errorf("--env %s has no effect: %s does not request this variable: remove the flag", name, strings.Join(added, ", "))
	}
	return nil
}

func namesOf(installed []discovery.Candidate) []string {
	var names []string
	for _, c := range installed {
		names = append(names, c.Name())
	}
	return names
}

// tableFor returns the table of a plugin for the config, which grants what the plugin asks for. The table contains the plugin's
// name instead of its path, and no pin, so that the config works with other versions of the installed plugins and on other
// machines.
func tableFor(o discovery.Options, m *manifest.Manifest, d config.Defaults, places config.Places, wanted Preparation) (review.Request, config.Plugin, error) {
	values := map[string]string{}
	grants, replaces := wanted.Grants[m.Name]
	if !wanted.User {
		grants.Env = nil // the config of a project is meant to be committed
	}
	for _, env := range []map[string]string{wanted.Env, grants.Env} {
		for name, value := range env {
			if m.RequestsEnv(name) {
				values[name] = strings.ReplaceAll(value, "${", "$${")
			}
		}
	}
	for _, r := range m.Requires {
		_, given := values[r.Env]
		switch {
		case r.Env == "", given:
		case r.Value == "${env:"+r.Env+"}":
			value, set := discovery.LookupEnv(o.System)(r.Env)
			if r.Optional && value == "" {
				continue
			}
			if !set {
				return review.Request{}, config.Plugin{}, usage.Errorf("plugin %s needs the variable %s, which is not set: set it, or pass --env %[2]s=VALUE", m.Name, r.Env)
			}
			values[r.Env] = r.Value
		case r.Value != "":
			values[r.Env] = ready.Value(r, places)
		default:
			return review.Request{}, config.Plugin{}, usage.Errorf("plugin %s needs the variable %s (%s): pass --env %[2]s=VALUE", m.Name, r.Env, r.Why)
		}
	}
	granted := slices.Sorted(maps.Keys(values))
	request, entry := review.Ask(m, review.Choice{Env: granted, PublicWeb: wanted.PublicWeb || grants.PublicWeb, AllowWrite: wanted.AllowWrite && m.Write == manifest.WriteOptIn}, d, places, explain.NewResolver(places, nil))
	entry.Name, entry.Path, entry.SHA256 = m.Name, "", ""
	if replaces {
		entry.FS, entry.Git = append([]manifest.FS{}, grants.FS...), append([]manifest.Git{}, repositories(m, grants.FS)...)
	}
	if len(values) > 0 {
		entry.Env = values
	}
	return request, entry, nil
}
