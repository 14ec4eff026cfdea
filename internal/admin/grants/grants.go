// Package grants is the model of the page Grants: Look returns what each client may do with which plugins, which tools that is, what they
// reach, and by which lines; what was not used, and what a ceiling has removed. Narrow says what a narrower grant would be, and Show shows
// a line of the config. The package evaluates no policy itself: explain, review and catalog do. It knows no HTML.
package grants

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/explain"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/history"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/remedy"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/base/chart"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Picture is what all clients are granted.
type Picture struct {
	explain.ConfigInForce
	Problem  string // why something is left out
	Clients  []Client
	Things   []Thing
	Projects int // of [[projects]], of which nothing is shown
	Use      Use
}

// Client is a kind of client.
type Client struct {
	Name, By string
	At       []config.Position
	Plugins  []Plugin
}

// Plugin is what one plugin is granted for one client.
type Plugin struct {
	explain.PluginPolicy
	Tools    []Tool
	Grants   []Grant
	Breadth  Breadth
	InConfig bool            // whether a table of the config names it, which could grant less
	Position config.Position // of that table
	Table    string          // name of the client's table, which could withhold its tools; empty: there is none
	// UnknownUse is when a call began of which it is not known which directories and repositories it used, so that none is said to be unused.
	UnknownUse time.Time
}

// Tool is a tool that a plugin has.
type Tool struct {
	review.ToolRule
	InManifest string    // its name without prefix
	Last       time.Time // when it was used last; the zero value: it is not known to have been used
	Unused     bool      // whether it is offered, and was not used for Use.Days
}

// Grant is something that a plugin reaches.
type Grant struct {
	Key   string // of the plugin's table: fs, git, http, env or ask
	Kind  string // directory, repository, web server, variable or question
	Write bool
	Holds Extent // of a directory
	// PartOf is an item of the plugin's table or manifest that includes this grant, so that it would decide without this one; empty: none does.
	PartOf  string
	hasItem bool // whether the table or the manifest has an item for it; a table of [[clients]] and a ceiling narrow to what has none
	// GrantUse is when a directory or repository was used.
	history.GrantUse
	Unused    bool // whether it was not used for Use.Days
	Unwritten bool // whether it was used, but write access was not
	review.Grant
}

// CanDrop reports whether Narrow can remove the grant.
func (g Grant) CanDrop() bool {
	return len(g.At) > 0 && g.PartOf == "" && g.hasItem
}

// place returns what the grant is compared by: a directory by the path to which its symbolic links resolve.
func (g Grant) place() string { return cmp.Or(g.Resolved, g.What) }

// isReached reports whether the plugin reaches more by the grant than its own state directory.
func (g Grant) isReached() bool { return !g.State && g.Refused == "" }

// Breadth is how much a plugin is granted, without its own state directory.
type Breadth struct {
	Tools, Writing, Unused        int // of the tools that are offered
	UnusedGrants                  int
	Directories, Writable         int
	Repositories, WritableRepos   int
	Origins, Variables, Questions int
	Broad                         []string // what contains all files of the user, or the public web
}

// CannotWrite reports whether directories and repositories are granted read-only, so that tools that write cannot change them.
func (b Breadth) CannotWrite() bool {
	return b.Directories+b.Repositories > 0 && b.Writable+b.WritableRepos == 0
}

// Writes reports whether its tools write something that it is granted, which web servers may be.
func (b Breadth) Writes() bool { return b.Writing > 0 && (!b.CannotWrite() || b.Origins > 0) }

// String says it in words, without what is zero.
func (b Breadth) String() string {
	with := func(n, special int, one, many, word string) string {
		switch {
		case n == 0:
			return ""
		case special == 0:
			return chart.Counted(n, one, many)
		}
		return fmt.Sprintf("%s, of which %d %s", chart.Counted(n, one, many), special, word)
	}
	parts := []string{
		with(b.Tools, b.Writing, "tool", "tools", "write"), with(b.Directories, b.Writable, "directory", "directories", "writable"),
		with(b.Repositories, b.WritableRepos, "repository", "repositories", "writable"), with(b.Origins, 0, "web server", "web servers", ""),
		with(b.Variables, 0, "variable", "variables", ""), with(b.Questions, 0, "kind of question", "kinds of questions", ""),
	}
	parts = slices.DeleteFunc(parts, func(part string) bool { return part == "" })
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

// Thing is something that plugins reach, with those that do. A directory is called by the path to which its symbolic links resolve.
type Thing struct {
	Kind, What       string
	Holds            Extent
	Readers, Writers []Reacher
}

// Reacher is a plugin that reaches a Thing, with the clients that may use it.
type Reacher struct {
	Plugin  string
	By      string // what it is granted, if that differs: a directory that contains the Thing, or a symbolic link
	Clients []string
}

// Look returns the Picture of an installation. It ends with ctx.
func Look(ctx context.Context, o discovery.Options) (*Picture, error) {
	p := &Picture{}
	var err error
	if p.ConfigInForce, err = explain.FindConfigInForce(o); err != nil {
		return nil, err
	}
	view, err := catalog.Look(o)
	if view == nil {
		return nil, err
	}
	if err != nil {
		p.Problem = err.Error()
	}
	p.Projects = len(view.Found.Projects)
	p.Use.here = []string{view.Places.Project, view.Places.Cwd}
	uses, finder, counted := p.Use.read(ctx, o, view), remedy.New(o, view), newExtents()
	granted, err := explain.EachClient(ctx, o, view)
	if err != nil {
		return nil, err
	}
	items := make([]map[string]map[string]bool, len(view.Plugins))
	for i, plugin := range view.Plugins {
		if !plugin.IsHost() && plugin.Problems.Err() == nil {
			items[i] = currentItems(plugin, view.Places).names()
		}
	}
	for _, g := range granted {
		c := Client{Name: g.Client.Name, By: g.Client.By}
		if g.At.File != "" {
			c.At = []config.Position{g.At}
		}
		if !g.Client.AllowsProject("") {
			for i := range g.Plugins {
				g.Plugins[i].Problem = cmp.Or(g.Plugins[i].Problem, "the table allows projects of [[projects]] only, and not the server's own, which is the one that is shown")
			}
		}
		counts := uses // of any client: what is withheld on this page is withheld from all
		if g.Client.Table != "" {
			counts = slices.DeleteFunc(slices.Clone(uses), func(u history.Use) bool { return !finder.MayDecide(g.Client.Table, u.Principal) })
		}
		used := p.Use.of(g.Plugins, counts)
		for i, described := range g.Plugins {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if entry := view.Plugins[i].Entry; !view.Plugins[i].IsHost() {
				plugin := newPlugin(described, entry, items[i], used)
				plugin.measure(ctx, counted)
				if g.At.File != "" {
					plugin.Table = g.Client.Name
				}
				c.Plugins = append(c.Plugins, plugin)
			}
		}
		p.Clients = append(p.Clients, c)
	}
	p.Things = things(ctx, p.Clients)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return p, nil
}

// newPlugin returns what is shown of a plugin with these items of fs, git and http. Only what a plugin that is served has can be unused.
func newPlugin(described explain.PluginPolicy, entry config.Plugin, items map[string]map[string]bool, used clientUse) Plugin {
	p := Plugin{PluginPolicy: described, InConfig: entry.File != "", Position: entry.Position("")}
	if described.Policy == nil {
		return p
	}
	for _, r := range described.Policy.Tools {
		name := history.Tool{Plugin: described.Name, Name: r.Name}
		t := Tool{ToolRule: r, InManifest: r.Name[len(entry.Prefix):], Last: used.last[name], Unused: used.unused[name]}
		if t.Offered && described.Problem == "" {
			p.Breadth.Tools++
			count(&p.Breadth.Unused, t.Unused)
			count(&p.Breadth.Writing, t.Access == "write")
		}
		p.Tools = append(p.Tools, t)
	}
	for _, list := range []struct {
		key, kind string
		grants    []review.Grant
	}{
		{"fs", review.Folder, described.Folders}, {"git", review.Repository, described.Repositories}, {"http", review.Origin, described.Origins},
		{"env", review.Variable, described.Variables}, {"ask", review.Question, described.Questions},
	} {
		names := items[list.key]
		for _, g := range list.grants {
			// The host does not judge what a request changes on a server.
			write := list.key == "http" || g.Access != "" && g.Access != string(manifest.Read)
			p.Grants = append(p.Grants, Grant{
				Key: list.key, Kind: kinds[list.kind], Write: write, PartOf: partOf(list.key, g.What, names), hasItem: names[g.What], Grant: g,
			})
			if !g.State {
				p.Breadth.add(list.key, write, g)
			}
		}
	}
	if described.Problem == "" {
		used.describe(&p, entry.Isolation == config.IsolationReused)
	}
	return p
}

// measure sets how much is in the directories of the plugin, except its own state directory.
func (p *Plugin) measure(ctx context.Context, counted *extents) {
	for i := range p.Grants {
		if g := &p.Grants[i]; g.Key == "fs" && g.isReached() {
			g.Holds = counted.of(ctx, g.place())
		}
	}
}

// kinds are the words for the kinds of package review.
var kinds = map[string]string{
	review.Folder: "directory", review.Repository: "repository", review.Origin: "web server", review.Variable: "variable", review.Question: "question",
}

func count(n *int, is bool) {
	if is {
		*n++
	}
}

func (b *Breadth) add(key string, write bool, g review.Grant) {
	switch key {
	case "fs":
		b.Directories++
		count(&b.Writable, write)
	case "git":
		b.Repositories++
		count(&b.WritableRepos, write)
	case "http":
		b.Origins++
	case "env":
		b.Variables++
	case "ask":
		b.Questions++
	}
	if g.Broad || g.What == manifest.PublicWeb {
		b.Broad = append(b.Broad, g.What)
	}
}

// place is what grants are compared by.
type place struct{ key, what string }

// reach is a grant of a plugin, by which it reaches a place.
type reach struct {
	client, plugin int // indexes
	grant          *Grant
}

// things returns what is reached by the plugins of clients, without their own state directories. It ends with ctx.
func things(ctx context.Context, clients []Client) []Thing {
	var all []Thing
	var places []place
	reached := map[place][]reach{}
	for c, client := range clients {
		for p, plugin := range client.Plugins {
			for i := range plugin.Grants {
				g := &plugin.Grants[i]
				if plugin.Problem != "" || !g.isReached() {
					continue
				}
				at := place{g.Key, g.place()}
				if reached[at] == nil {
					all, places = append(all, Thing{Kind: g.Kind, What: at.what, Holds: g.Holds}), append(places, at)
				}
				reached[at] = append(reached[at], reach{c, p, g})
			}
		}
	}
	for i, at := range places {
		if ctx.Err() != nil {
			return nil
		}
		all[i].addReachers(clients, decisive(at, reached))
	}
	slices.SortStableFunc(all, func(a, b Thing) int {
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), cmp.Compare(a.What, b.What))
	})
	return all
}

var order = []string{kinds[review.Folder], kinds[review.Repository], kinds[review.Origin], kinds[review.Variable], kinds[review.Question]}

// decisive returns the grants that decide about a place, one of each plugin that reaches it for a client, in the order of clients and plugins: that of
// the place itself, or else the innermost that includes it. Of several grants of one place, one that can write decides.
func decisive(at place, reached map[place][]reach) []reach {
	all := slices.Clone(reached[at])
	for what := range containers(at.key, at.what) {
		all = append(all, reached[place{at.key, what}]...)
	}
	slices.SortStableFunc(all, func(a, b reach) int { return cmp.Or(a.client-b.client, a.plugin-b.plugin) })
	decide := all[:0]
	for _, r := range all {
		last := len(decide) - 1
		switch {
		case last < 0 || decide[last].client != r.client || decide[last].plugin != r.plugin:
			decide = append(decide, r)
		case r.grant.Write && decide[last].grant.place() == r.grant.place():
			decide[last] = r
		}
	}
	return decide
}

// addReachers adds the plugins that reach the thing.
func (t *Thing) addReachers(clients []Client, decisive []reach) {
	type key struct {
		plugin, by string
		write      bool
	}
	known := map[key]int{} // index in Readers or Writers
	for _, d := range decisive {
		r := Reacher{Plugin: clients[d.client].Plugins[d.plugin].Name, By: d.grant.What}
		if r.By == t.What {
			r.By = ""
		}
		list := &t.Readers
		if d.grant.Write {
			list = &t.Writers
		}
		at := key{r.Plugin, r.By, d.grant.Write}
		i, found := known[at]
		if !found {
			i, known[at] = len(*list), len(*list)
			*list = append(*list, r)
		}
		(*list)[i].Clients = append((*list)[i].Clients, clients[d.client].Name)
	}
}
