package grants

import (
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
	At            config.Position    // of the key to change, or else of the table to which it is added
	Replaces      bool               // whether the table has the key
	Edit          string             // command that opens the file there
	Lines         string             // TOML
	Commands      []string           // to run after the change
	Changes       []review.GrantLine // what differs for clients without a table
	Problem       string             // why the plugin would not be served; empty if it would be
	Excerpt       *Excerpt
}

// The keys that Narrow changes, beside fs, git and http.
const (
	KeyTool     = "deny_tools"
	KeyReadOnly = "read_only"
)

// Narrow returns the change by which a plugin is granted less: without the tool what, without write access, or without what it reaches by
// key. Nothing is written.
func Narrow(o discovery.Options, plugin, key, what string) (*Narrowing, error) {
	view, err := catalog.Look(o)
	if view == nil {
		return nil, err
	}
	named := func(p *catalog.Plugin) bool { return p.Name == plugin && !p.IsHost() && p.Problems.Err() == nil }
	i := slices.IndexFunc(view.Plugins, named)
	at := slices.IndexFunc(view.Candidates, func(c discovery.Candidate) bool { return c.Name() == plugin })
	switch {
	case i < 0 || at < 0:
		return nil, usage.Errorf("there is no plugin %s that could be granted less", tomlfile.Quote(plugin))
	case view.Plugins[i].Entry.File == "":
		return nil, usage.Errorf("no config names %s, so there is no line to change: write a config with `bulkhead init`", plugin)
	}
	before := view.Plugins[i]
	entry, only, err := narrowed(before, view.Places, key, what)
	if err != nil {
		return nil, err
	}
	n := &Narrowing{Plugin: plugin, At: before.Entry.Position(key), Lines: config.Settings(only), Words: plugin + " without " + what}
	if n.Replaces = isSet(before.Entry, key); key == KeyReadOnly {
		n.Words = plugin + " without write tools and write access"
	}
	found := *view.Found
	found.Candidates = slices.Clone(found.Candidates)
	found.Candidates[at].Entry = entry
	after := catalog.New(&found)
	was, is := explain.PolicyOf(o, view, before), explain.PolicyOf(o, after, after.Plugins[i])
	if is.Policy != nil {
		n.Changes = slices.DeleteFunc(review.CompareGrants(*was.Policy, *is.Policy), func(l review.GrantLine) bool { return l.Change == "" })
	}
	if was.Problem == "" {
		n.Problem = is.Problem
	}
	n.Edit = fmt.Sprintf("${EDITOR:-vi} +%d %s", n.At.Line, visible.ShellWord(n.At.File))
	n.Commands = []string{terminal.Command(o, "policy", plugin)}
	if source, err := discovery.FindConfig(o); err == nil && source.By.NeedsTrust() {
		n.Commands = append([]string{terminal.Command(o, "trust")}, n.Commands...)
	}
	n.Excerpt, err = show(view, n.At.File, n.At.Line)
	return n, err
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
