package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/authoring/scratch"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
)

// config returns the plugin's table in the config of the scenario's host. The error is tomlfile.Problems in the scenario file if the
// plugin cannot have the grants.
func (s *Scenario) config(d *scratch.Dir, p Plugin) (string, error) {
	lines := grantLines(s.grants, p)
	table := scratch.Table(p.Dir, lines)
	o, err := d.Options("", nil)
	if err != nil {
		return "", err
	}
	view, err := catalog.LookAs(o, []byte(d.Config(table)))
	if ps := (tomlfile.Problems)(nil); view == nil && errors.As(err, &ps) {
		return "", s.locate(ps)
	}
	if view == nil {
		return "", err
	}
	if ps := view.Plugins[0].Problems.Errors(); len(ps) > 0 {
		return "", s.locate(ps)
	}
	if err := s.checkNetwork(p, view); err != nil {
		return "", err
	}
	return table, nil
}

// checkNetwork returns an error if the grants of the scenario reach more of the network than the caller and the ceiling allow.
func (s *Scenario) checkNetwork(p Plugin, view *catalog.Catalog) error {
	grant := view.Plugins[0].Grant
	refuse := func(key, what, remedy string) error {
		return tomlfile.Problems{{File: s.grants.File(), Line: s.grants.LineOf(key), Key: s.grants.Name() + "." + key, What: what, Remedy: remedy}}
	}
	const remedy = "read the scenario, and pass --network %s to allow it"
	remotes := slices.ContainsFunc(grant.Git, func(g config.Git) bool { return len(g.Remotes) > 0 })
	for _, origin := range grant.HTTP {
		needed := PublicNetwork
		if origin.Private {
			needed = PrivateNetwork
		}
		if p.Network == NoNetwork || origin.Private && p.Network != PrivateNetwork {
			return refuse("http", fmt.Sprintf("grants %s, and scenarios do not reach the %s network unless the command says so", origin, needed), fmt.Sprintf(remedy, needed))
		}
	}
	if remotes && p.Network == NoNetwork {
		return refuse("git", "grants remotes, and scenarios do not reach the network unless the command says so", fmt.Sprintf(remedy, PublicNetwork))
	}
	if p.Ceiling == nil || len(grant.HTTP) == 0 && !remotes {
		return nil
	}
	narrowed, problems := p.Ceiling.Narrow(p.Manifest, view.Plugins[0].Entry, view.Places, grant)
	if err := problems.Err(); err != nil {
		return err
	}
	for _, cut := range narrowed.Cuts {
		if cut.Key == "http" || cut.Key == "git" && remotes {
			return refuse(cut.Key, fmt.Sprintf("grants %s: %s", cut.What, cut.Why), "remove it, or ask the administrator of this machine")
		}
	}
	return nil
}

// locate moves problems of the config to the table of grants in the scenario file.
func (s *Scenario) locate(ps tomlfile.Problems) tomlfile.Problems {
	located := slices.Clone(ps)
	for i, p := range ps {
		key, granted := strings.CutPrefix(p.Key, "plugins[0].")
		if !granted || !s.grants.Present() {
			continue // a problem of the manifest
		}
		top, _, _ := strings.Cut(strings.ReplaceAll(key, "[", "."), ".")
		located[i].File, located[i].Line, located[i].Key = s.grants.File(), s.grants.LineOf(top), s.grants.Name()+"."+key
		located[i].Remedy = strings.ReplaceAll(p.Remedy, "bulkhead.toml", "the scenario")
	}
	return located
}

// grantLines returns the lines of a config for the grants of a scenario. Keys that the scenario does not set have the values of
// scratch.Grants.
func grantLines(t *tomlfile.Table, p Plugin) string {
	granted := map[string]string{}
	for line := range strings.Lines(scratch.Grants(p.Manifest)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		granted[key] = value
	}
	own, _ := decoded(t.Object()).(map[string]any)
	for key, value := range own {
		granted[key] = inline(value)
	}
	if _, set := own["read_only"]; set && own["allow_write"] == nil {
		delete(granted, "allow_write") // a config must not have both
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(granted)) {
		fmt.Fprintf(&b, "%s = %s\n", tomlfile.Key(key), granted[key])
	}
	return b.String()
}

// inline returns a decoded JSON value as one line of TOML. It returns an empty string for null, which TOML does not have.
func inline(v any) string {
	switch v := v.(type) {
	case string:
		return tomlfile.Text(v)
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return string(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = inline(item)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
		members := make([]string, 0, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			members = append(members, tomlfile.Key(key)+" = "+inline(v[key]))
		}
		return "{ " + strings.Join(members, ", ") + " }"
	}
	return ""
}
