package grants

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Narrowing is a change of the config by which a plugin is granted less.
type Narrowing struct {
	Plugin, Words string
	ReadOnly      bool               // whether all write access is removed, which requests to web servers are not
	Client        string             // whose difference Changes is
	At            config.Position    // of the key to change, or else of the table to which it is added
	Replaces      bool               // whether the table has the key
	Edit          string             // command that opens the file there
	Lines         string             // TOML
	Commands      []string           // to run after the change
	Changes       []review.GrantLine // what differs for Client
	Reached       []Reached          // the clients for which something differs
	Unreached     []string           // the other clients
	Problem       string             // why the plugin would not be served; empty if it would be
	Excerpt       *Excerpt
}

// Reached is a client whose grants differ, with the plugins of which they do.
type Reached struct {
	Client  string
	Plugins []string
}

// Less says what is to be granted less: the tool What, the plugin's write access, or what it reaches by Key.
type Less struct {
	Plugin, Key, What string
	Client            string // name of the table of [[clients]] to change; empty: that of the plugin is changed
}

// The keys that Narrow changes, beside fs, git and http.
const (
	KeyTool     = "deny_tools"
	KeyReadOnly = "read_only"
)

// Narrow returns the change of the config by which l is granted no more. Nothing is written.
func Narrow(o discovery.Options, l Less) (*Narrowing, error) {
	view, err := catalog.Look(o)
	if view == nil {
		return nil, err
	}
	named := func(p *catalog.Plugin) bool { return p.Name == l.Plugin && !p.IsHost() && p.Problems.Err() == nil }
	i := slices.IndexFunc(view.Plugins, named)
	if i < 0 {
		return nil, usage.Errorf("there is no plugin %s that could be granted less", tomlfile.Quote(l.Plugin))
	}
	n := &Narrowing{Plugin: l.Plugin, Client: cmp.Or(l.Client, explain.ThisUser), Words: l.Plugin + " without " + l.What}
	found := *view.Found
	if l.Client != "" {
		err = n.changeClient(&found, l, view.Plugins[i].Grant)
	} else {
		err = n.changePlugin(&found, l, view.Plugins[i])
	}
	if err != nil {
		return nil, err
	}
	n.compare(explain.EachClient(o, view), explain.EachClient(o, catalog.New(&found)), i)
	n.Edit = fmt.Sprintf("${EDITOR:-vi} +%d %s", n.At.Line, visible.ShellWord(n.At.File))
	n.Commands = []string{terminal.Command(o, "policy", l.Plugin)}
	if source, err := discovery.FindConfig(o); err == nil && source.By.NeedsTrust() {
		n.Commands = append([]string{terminal.Command(o, "trust")}, n.Commands...)
	}
	n.Excerpt, err = show(view, n.At.File, n.At.Line)
	return n, err
}

// changePlugin changes the plugin's table in found.
func (n *Narrowing) changePlugin(found *discovery.Found, l Less, p *catalog.Plugin) error {
	at := slices.IndexFunc(found.Candidates, func(c discovery.Candidate) bool { return c.Name() == l.Plugin })
	switch {
	case at < 0:
		return usage.Errorf("there is no plugin %s that could be granted less", tomlfile.Quote(l.Plugin))
	case p.Entry.File == "":
		return usage.Errorf("no config names %s, so there is no line to change: write a config with `bulkhead init`", l.Plugin)
	}
	entry, only, err := narrowed(p, found.Places, l.Key, l.What)
	if err != nil {
		return err
	}
	n.At, n.Lines, n.Replaces = p.Entry.Position(l.Key), config.Settings(only), isSet(p.Entry, l.Key)
	if l.Key == KeyReadOnly {
		n.ReadOnly, n.Words = true, l.Plugin+" without write tools and write access"
	}
	found.Candidates = slices.Clone(found.Candidates)
	found.Candidates[at].Entry = entry
	return nil
}

// changeClient changes a table of [[clients]] in found, whose deny_tools withhold tools of that name from all plugins.
func (n *Narrowing) changeClient(found *discovery.Found, l Less, full config.Grant) error {
	at := slices.IndexFunc(found.Clients.Tables, func(c config.Client) bool { return c.Name == l.Client })
	switch {
	case at < 0:
		return usage.Errorf("there is no table of [[clients]] called %s", tomlfile.Quote(l.Client))
	case l.Key != KeyTool:
		return usage.Errorf("%s of [[clients]] cannot be narrowed here: only %s can", tomlfile.Quote(l.Key), KeyTool)
	case !slices.ContainsFunc(full.Tools, func(t manifest.Tool) bool { return t.Name == l.What }):
		return usage.Errorf("%s is not granted %s", l.Plugin, tomlfile.Quote(l.What))
	}
	found.Clients.Tables = slices.Clone(found.Clients.Tables)
	table := &found.Clients.Tables[at]
	n.At, n.Replaces, n.Words = table.Position(KeyTool), table.DenyTools != nil, n.Words+" for the client "+l.Client
	table.DenyTools = append(slices.Clone(table.DenyTools), l.What)
	n.Lines = config.Settings(config.Plugin{DenyTools: table.DenyTools})
	return nil
}

// compare sets what differs between two states of the grants of all clients. i is the index of the plugin.
func (n *Narrowing) compare(before, after []explain.Granted, i int) {
	for c, was := range before {
		reached := Reached{Client: was.Client.Name}
		for j := range was.Plugins {
			changes := changes(was.Plugins[j], after[c].Plugins[j])
			if len(changes) > 0 {
				reached.Plugins = append(reached.Plugins, was.Plugins[j].Name)
			}
			if i == j && was.Client.Name == n.Client {
				n.Changes = changes
				if was.Plugins[j].Problem == "" {
					n.Problem = after[c].Plugins[j].Problem
				}
			}
		}
		if len(reached.Plugins) > 0 {
			n.Reached = append(n.Reached, reached)
		} else {
			n.Unreached = append(n.Unreached, was.Client.Name)
		}
	}
}

// changes lists what differs of a plugin's grant.
func changes(before, after explain.PluginPolicy) []review.GrantLine {
	if before.Policy == nil || after.Policy == nil {
		return nil
	}
	return slices.DeleteFunc(review.CompareGrants(*before.Policy, *after.Policy), func(l review.GrantLine) bool { return l.Change == "" })
}

// isSet reports whether a plugin's table has a key.
func isSet(p config.Plugin, key string) bool {
	return map[string]bool{KeyTool: p.DenyTools != nil, KeyReadOnly: p.ReadOnly, "fs": p.FS != nil, "git": p.Git != nil, "http": p.HTTP != nil}[key]
}

// narrowed returns the entry of p with less, and an entry that has only the key that differs.
func narrowed(p *catalog.Plugin, places config.Places, key, what string) (entry, only config.Plugin, err error) {
	entry = p.Entry
	found := true
	switch key {
	case KeyTool:
		found = slices.ContainsFunc(p.Grant.Tools, func(t manifest.Tool) bool { return t.Name == what })
		entry.DenyTools = append(slices.Clone(entry.DenyTools), what)
		only.DenyTools = entry.DenyTools
	case KeyReadOnly:
		entry.ReadOnly, only.ReadOnly = true, true
	case "fs":
		asked := entry.FS
		if asked == nil {
			asked = p.Manifest.Capabilities.FS
		}
		entry.FS, found = without(asked, what, func(f manifest.FS) (string, string) { return places.Resolve(f.Path, p.Name) })
		only.FS = entry.FS
	case "git":
		asked := entry.Git
		if asked == nil {
			for _, g := range p.Manifest.Capabilities.Git { // without a config's git they are granted read-only
				asked = append(asked, manifest.Git{Repo: g.Repo, Access: manifest.Read})
			}
		}
		entry.Git, found = without(asked, what, func(g manifest.Git) (string, string) { return places.Resolve(g.Repo, p.Name) })
		only.Git = entry.Git
	case "http":
		asked := entry.HTTP
		if asked == nil {
			asked = p.Grant.HTTP
		}
		entry.HTTP, found = without(asked, what, func(h config.HTTP) (string, string) { return h.String(), "" })
		only.HTTP = entry.HTTP
	default:
		return entry, only, usage.Errorf("%s cannot be narrowed: only %s can", tomlfile.Quote(key), strings.Join([]string{KeyTool, KeyReadOnly, "fs", "git", "http"}, ", "))
	}
	if !found {
		err = usage.Errorf("%s is not granted %s by %s", p.Name, tomlfile.Quote(what), fmt.Sprintf("%s of the config or the manifest", key))
	}
	return entry, only, err
}

// without returns the items of list, without those that resolve to what, or to nothing since a variable is unset, and whether there was one.
func without[T any](list []T, what string, resolve func(T) (resolved, missing string)) (rest []T, found bool) {
	rest = []T{}
	for _, item := range list {
		resolved, missing := resolve(item)
		if found = found || missing == "" && resolved == what; missing == "" && resolved != what {
			rest = append(rest, item)
		}
	}
	return rest, found
}
