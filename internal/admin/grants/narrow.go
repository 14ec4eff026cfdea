package grants

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
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
	At            config.Position    // of the key to replace, or else of the table to which the lines are added
	Replaces      bool               // whether the lines replace the key at At, which has the marked lines of Excerpt
	Removes       []Removed          // what else the change removes
	Edit          string             // command that opens the file there
	Lines         string             // TOML
	Commands      []string           // to run after the change
	Changes       []review.GrantLine // what differs for Client
	Reached       []Reached          // the clients for which something differs
	Unreached     []string           // the other clients
	Problem       string             // why the plugin would not be served; empty if it would be
	Excerpt       *Excerpt
}

// Removed is a part of the file that a change removes.
type Removed struct {
	What  string // a key, or the heading of tables
	Lines []int  // of the file before the change
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

// Narrow returns the change of the config by which l is granted no more. Nothing is written. It ends with ctx.
func Narrow(ctx context.Context, o discovery.Options, l Less) (*Narrowing, error) {
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
	change := n.changePlugin
	if l.Client != "" {
		change = n.changeClient
	}
	if err = change(view, &found, l, view.Plugins[i]); err != nil {
		return nil, err
	}
	before, err := explain.EachClient(ctx, o, view)
	if err != nil {
		return nil, err
	}
	after, err := explain.EachClient(ctx, o, catalog.New(&found))
	if err != nil {
		return nil, err
	}
	n.compare(before, after, i)
	n.Edit = fmt.Sprintf("${EDITOR:-vi} +%d %s", n.At.Line, visible.ShellWord(n.At.File))
	explained := []string{"policy", l.Plugin}
	if l.Client != "" {
		explained = append(explained, "--client", explain.TableForm+l.Client)
	}
	n.Commands = []string{terminal.Command(o, explained...)}
	if source, err := discovery.FindConfig(o); err == nil && source.By.NeedsTrust() {
		n.Commands = append([]string{terminal.Command(o, "trust", source.File)}, n.Commands...)
	}
	n.Excerpt, err = show(view, n.At.File, n.At.Line)
	return n, err
}

// changePlugin changes the plugin's table in found.
func (n *Narrowing) changePlugin(view *catalog.Catalog, found *discovery.Found, l Less, p *catalog.Plugin) error {
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
	n.Lines = config.Settings(only)
	if err := n.place(view, p.Entry.Position(""), l.Key, p.Entry.Lines, items(p.Entry, l.Key)); err != nil {
		return err
	}
	if l.Key == KeyReadOnly {
		n.ReadOnly, n.Words = true, l.Plugin+" without write tools and write access"
		if p.Entry.AllowWrite {
			n.Removes = append(n.Removes, Removed{"allow_write", []int{p.Entry.Lines["allow_write"]}})
		}
	}
	found.Candidates = slices.Clone(found.Candidates)
	found.Candidates[at].Entry = entry
	return nil
}

// changeClient changes a table of [[clients]] in found. Its deny_tools withhold tools of that name from all plugins, and its read_only is for all
// plugins too.
func (n *Narrowing) changeClient(view *catalog.Catalog, found *discovery.Found, l Less, p *catalog.Plugin) error {
	at := slices.IndexFunc(found.Clients.Tables, func(c config.Client) bool { return c.Name == l.Client })
	switch {
	case at < 0:
		return usage.Errorf("there is no table of [[clients]] called %s", tomlfile.Quote(l.Client))
	case l.Key != KeyTool && l.Key != KeyReadOnly:
		return usage.Errorf("%s of [[clients]] cannot be narrowed here: only %s and %s can", tomlfile.Quote(l.Key), KeyTool, KeyReadOnly)
	case l.Key == KeyTool && !hasTool(p, l.What):
		return usage.Errorf("%s is not granted %s", l.Plugin, tomlfile.Quote(l.What))
	}
	found.Clients.Tables = slices.Clone(found.Clients.Tables)
	table := &found.Clients.Tables[at]
	var only config.Plugin
	if l.Key == KeyReadOnly {
		table.ReadOnly, only.ReadOnly, n.ReadOnly = true, true, true
		n.Words = "the client " + l.Client + " without write tools and write access, for all plugins"
	} else {
		table.DenyTools = append(slices.Clone(table.DenyTools), l.What)
		only.DenyTools = table.DenyTools
		n.Words += " for the client " + l.Client
	}
	n.Lines = config.Settings(only)
	return n.place(view, table.Position(""), l.Key, table.Lines, nil)
}

// place sets where the lines belong in the file. They replace key of the table at a position, or are added to the table if it has no such key, or
// has it as tables of its own, of which items are the lines. lines are those of the keys; that of an absent key is the line of the table.
func (n *Narrowing) place(view *catalog.Catalog, table config.Position, key string, lines map[string]int, items []int) error {
	outline, _, err := readOutline(view, table.File)
	if err != nil {
		return err
	}
	isHeading := func(line int) bool {
		return line > 0 && line <= len(outline) && strings.HasPrefix(strings.TrimSpace(outline[line-1]), "[[")
	}
	at := cmp.Or(lines[key], table.Line)
	switch {
	case !isHeading(table.Line):
		return usage.Errorf("the table at %s does not begin with [[…]]: write it that way, or change %s there by hand", table, key)
	case at == table.Line:
		n.At = table
	case isHeading(at):
		n.At, n.Removes = table, []Removed{{"[[plugins." + key + "]]", items}}
	default:
		n.At, n.Replaces = config.Position{File: table.File, Line: at}, true
	}
	return nil
}

// items returns the lines of the items of a key of a plugin's table.
func items(p config.Plugin, key string) (lines []int) {
	switch key {
	case "fs":
		for _, f := range p.FS {
			lines = append(lines, f.Line)
		}
	case "git":
		for _, g := range p.Git {
			lines = append(lines, g.Line)
		}
	case "http":
		for i := range p.HTTP {
			lines = append(lines, p.Lines[fmt.Sprintf("http[%d]", i)])
		}
	}
	return lines
}

func hasTool(p *catalog.Plugin, name string) bool {
	return slices.ContainsFunc(p.Grant.Tools, func(t manifest.Tool) bool { return t.Name == name })
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

// narrowed returns the entry of p with less, and an entry that has only the key that is written.
func narrowed(p *catalog.Plugin, places config.Places, key, what string) (entry, only config.Plugin, err error) {
	entry = p.Entry
	now := currentItems(p, places)
	found, rest := true, map[string]bool(nil)
	switch key {
	case KeyTool:
		found = hasTool(p, what)
		entry.DenyTools = append(slices.Clone(entry.DenyTools), what)
		only.DenyTools = entry.DenyTools
	case KeyReadOnly:
		entry.ReadOnly, entry.AllowWrite, only.ReadOnly = true, false, true
	case "fs":
		entry.FS, rest, found = without(now.fs, what, now.directory)
		only.FS = entry.FS
	case "git":
		entry.Git, rest, found = without(now.git, what, now.repository)
		only.Git = entry.Git
	case "http":
		entry.HTTP, rest, found = without(now.http, what, now.origin)
		only.HTTP = entry.HTTP
	default:
		return entry, only, usage.Errorf("%s cannot be narrowed: only %s can", tomlfile.Quote(key), strings.Join([]string{KeyTool, KeyReadOnly, "fs", "git", "http"}, ", "))
	}
	if !found {
		return entry, only, usage.Errorf("%s is not granted %s by %s of the config or the manifest", p.Name, tomlfile.Quote(what), key)
	}
	if part := partOf(key, what, rest); part != "" {
		return entry, only, usage.Errorf("%s is in %s, which stays granted: hide it with deny, or narrow that one", tomlfile.Quote(what), part)
	}
	return entry, only, nil
}

// currentSettings are the items that fs, git and http of a plugin's table have, or would have if they were written as they are in force.
type currentSettings struct {
	fs      []manifest.FS
	git     []manifest.Git
	http    []config.HTTP
	resolve func(path string) (resolved, missing string)
}

// currentItems returns those of p. Without a key in the config, they are what is granted now: a manifest may request more than it is granted without one.
func currentItems(p *catalog.Plugin, places config.Places) currentSettings {
	now := currentSettings{p.Entry.FS, p.Entry.Git, p.Entry.HTTP, func(path string) (string, string) { return places.Resolve(path, p.Name) }}
	if now.fs == nil {
		now.fs = slices.DeleteFunc(slices.Clone(p.Manifest.Capabilities.FS), func(f manifest.FS) bool {
			path, missing := now.directory(f)
			return missing != "" || !slices.ContainsFunc(p.Grant.FS, func(m config.Mount) bool { return !m.State && m.Path == path })
		})
	}
	if now.git == nil {
		for _, g := range p.Manifest.Capabilities.Git {
			path, missing := now.repository(g)
			if i := slices.IndexFunc(p.Grant.Git, func(have config.Git) bool { return have.Repo == path }); missing == "" && i >= 0 {
				now.git = append(now.git, manifest.Git{Repo: g.Repo, Access: p.Grant.Git[i].Access, Remotes: p.Grant.Git[i].Remotes})
			}
		}
	}
	if now.http == nil {
		now.http = p.Grant.HTTP
	}
	return now
}

func (s currentSettings) directory(f manifest.FS) (resolved, missing string) {
	return s.resolve(f.Path)
}

func (s currentSettings) repository(g manifest.Git) (resolved, missing string) {
	return s.resolve(g.Repo)
}

func (currentSettings) origin(h config.HTTP) (resolved, missing string) { return h.String(), "" }

// names returns what the items of each key resolve to, which is what Narrow can remove.
func (s currentSettings) names() map[string]map[string]bool {
	_, fs, _ := without(s.fs, "", s.directory)
	_, git, _ := without(s.git, "", s.repository)
	_, http, _ := without(s.http, "", s.origin)
	return map[string]map[string]bool{"fs": fs, "git": git, "http": http}
}

// without returns the items of list, without those that resolve to what, or to nothing since a variable is unset, with what they resolve to, and
// whether there was one.
func without[T any](list []T, what string, resolve func(T) (resolved, missing string)) (rest []T, names map[string]bool, found bool) {
	rest, names = []T{}, map[string]bool{}
	for _, item := range list {
		resolved, missing := resolve(item)
		if found = found || missing == "" && resolved == what; missing == "" && resolved != what {
			rest, names[resolved] = append(rest, item), true
		}
	}
	return rest, names, found
}

// containers yields what includes an item of fs, git or http, the innermost first: the first that is granted decides if the item itself is not.
func containers(key, what string) iter.Seq[string] {
	return func(yield func(string) bool) {
		switch key {
		case "fs", "git":
			for dir := filepath.Dir(what); dir != what && yield(dir); dir = filepath.Dir(dir) {
				what = dir
			}
		case "http":
			if o, err := origin.Parse(what); err == nil && o.OnDefaultPort() {
				yield(manifest.PublicWeb)
			}
		}
	}
}

// partOf returns which of names, items of fs, git or http, decides for what if that has no item of its own; empty if none does.
func partOf(key, what string, names map[string]bool) string {
	for name := range containers(key, what) {
		if names[name] {
			return name
		}
	}
	return ""
}
