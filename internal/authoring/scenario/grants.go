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
	return table, nil
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
