// Package installed is the model of the page Plugins: List returns what is installed, whether it matches its pins, who has signed it, and which
// newer versions were fetched. It opens no connection and runs no module. It knows no HTML.
package installed

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/mod/semver"

	"github.com/bulkhead-mcp/bulkhead/internal/admin/install"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/review"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/source"
	"github.com/bulkhead-mcp/bulkhead/internal/admin/terminal"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/catalog"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/store"
)

// Plugins is what is installed.
type Plugins struct {
	Problem  string // why something is left out
	Unpinned string // why no pins are known: there is no config, or it cannot be used
	Plugins  []Plugin
}

// Plugin is a plugin that is served, or would be.
type Plugin struct {
	Name, Version, Description string
	Dir                        string
	From                       string // the reference by which it was fetched; empty: it is a directory
	Wanted                     string // the range of versions in which updates are wanted; empty: none
	At                         []config.Position
	Problem                    string // why it is not served
	Warnings                   tomlfile.Problems
	Tools, Offered             int
	Fetched                    time.Time
	Imported                   bool
	SignedBy                   string   // the key with which the archive was signed; empty: none is known
	MustBeSigned               string   // the key that the config requires
	Newer                      []Update // later versions of the same source that were fetched, the latest first
	Pins                       []install.Pin
	Commands                   []Command
}

// Command is a command for a terminal.
type Command struct{ Line, Does string }

// Update is a version of a plugin that was fetched, and what it asks for compared with the one in the config.
type Update struct {
	Version string
	Changes []review.Change
	More    bool   // whether it asks for more
	Problem string // why there is no comparison
	Command Command
}

// maxNewer bounds the updates that are compared.
const maxNewer = 3

// Pinned reports whether the config pins the manifest, and everything matches.
func (p *Plugin) Pinned() bool {
	return len(p.Pins) > 0 && p.Pins[0].State == install.Matches && !slices.ContainsFunc(p.Pins, install.Pin.Broken)
}

// List returns what is installed.
func List(o discovery.Options) (*Plugins, error) {
	view, err := catalog.Look(o)
	if view == nil {
		return nil, err
	}
	all := &Plugins{}
	if err != nil {
		all.Problem = err.Error()
	}
	pins, err := install.Verify(o)
	if err != nil {
		all.Unpinned = err.Error()
	}
	stored, err := items(o)
	if err != nil {
		all.Problem = err.Error()
	}
	for _, p := range view.Plugins {
		if !p.IsHost() {
			all.Plugins = append(all.Plugins, describe(o, p, pins, stored))
		}
	}
	return all, nil
}

// items returns the plugins that were fetched.
func items(o discovery.Options) ([]store.Item, error) {
	s, err := discovery.Store(o.System)
	if err != nil || s.Dir == "" {
		return nil, err
	}
	found, err := s.List()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return found, err
}

func describe(o discovery.Options, p *catalog.Plugin, pins []install.Pin, stored []store.Item) Plugin {
	d := Plugin{
		Name: p.Name, Dir: p.Entry.Path, From: p.Entry.From, Problem: p.Problem, Warnings: p.Problems.Warnings(), MustBeSigned: p.Entry.Signer.String(),
	}
	if p.Entry.File != "" {
		d.At = []config.Position{p.Entry.Position("")}
	}
	if p.Problem == "" {
		d.Offered = len(p.Tools)
	}
	if p.Manifest != nil {
		d.Version, d.Description, d.Tools = p.Manifest.Version, p.Manifest.Description, len(p.Manifest.Tools)
	}
	if operator, _ := config.SplitVersion(p.Entry.Version); operator != "" {
		d.Wanted = p.Entry.Version
	}
	for _, pin := range pins {
		if pin.Plugin == p.Name {
			d.Pins = append(d.Pins, pin)
		}
	}
	var newer []store.Item
	for _, item := range stored {
		switch {
		case item.Digest == p.Entry.SHA256 && p.Entry.From != "":
			d.Fetched, d.Imported, d.SignedBy = item.Origin.Fetched, item.Origin.Imported, item.Origin.Signer
		case item.Problem == nil && item.Name == p.Name && semver.Compare("v"+item.Version, "v"+d.Version) > 0 && isSameSource(&d, item):
			newer = append(newer, item)
		}
	}
	slices.SortFunc(newer, func(a, b store.Item) int { return semver.Compare("v"+b.Version, "v"+a.Version) })
	for _, item := range newer[:min(len(newer), maxNewer)] {
		d.Newer = append(d.Newer, compare(o, &d, item))
	}
	d.Commands = commands(o, &d)
	return d
}

// isSameSource reports whether an item of the store is from where d is: another source can offer a plugin of the same name.
func isSameSource(d *Plugin, item store.Item) bool {
	have, err := source.Parse(d.From, "/")
	if err != nil {
		return false
	}
	other, err := source.Parse(item.Origin.From, "/")
	return err == nil && other.Series(item.Version) == have.Series(d.Version)
}

// compare returns the update of d to an item of the store.
func compare(o discovery.Options, d *Plugin, item store.Item) Update {
	u := Update{Version: item.Version, Command: Command{terminal.Command(o, "update", "--to", item.Version, d.Name), "updates it to " + item.Version + ", after your consent if it asks for more"}}
	found, err := install.Compare(o, d.Dir, item.Dir)
	if err != nil {
		u.Problem = err.Error()
		return u
	}
	u.Changes, u.More = found.Changes, found.More
	return u
}

// commands returns what a person might want to do with a plugin.
func commands(o discovery.Options, p *Plugin) []Command {
	var all []Command
	add := func(does string, words ...string) { all = append(all, Command{terminal.Command(o, words...), does}) }
	switch {
	case p.From != "":
		add("asks the server that it comes from whether it is outdated", "update", "--check", p.Name)
		add("shows what a newer version asks for, and changes nothing", "update", "--dry-run", p.Name)
		add("updates it, after your consent if it asks for more", "update", p.Name)
	case p.At != nil:
		add("reviews what is in its directory now, and pins it", "add", "--repin", p.Dir)
	}
	if p.At != nil {
		add("removes it from the config", "remove", p.Name)
	}
	return all
}
