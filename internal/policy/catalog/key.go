package catalog

import (
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
)

// Key identifies the Catalog of some clients among the Catalogs of a server. The zero value is the complete Catalog of the server's own project.
type Key struct {
	Project string // name of the project; empty: the server's own
	Client  string // name of the table of [[clients]] that decides, or others; empty: the complete Catalog of the project
	Dir     string // value of ${client}, if a path of the table names it
}

// others is the Key.Client of clients that no table matches, although there are tables. No table has such a name.
const others = "*"

// Table returns the name of the table of [[clients]] that decides; empty if none does.
func (k Key) Table() string {
	if k.Client == others {
		return ""
	}
	return k.Client
}

// Projects returns the complete Catalogs of a server: c, and that of each of its further projects.
func (c *Catalog) Projects() []*Catalog {
	all := []*Catalog{c}
	for _, p := range c.Found.Projects {
		all = append(all, New(c.InProject(p)))
	}
	return all
}

// KeyOf returns the Key of what a principal gets of the project of c, and the table that decides; nil if there is none. ok is false if the
// principal gets nothing.
func (c *Catalog) KeyOf(p *call.Principal) (key Key, client *config.Client, ok bool) {
	client, admitted := c.Clients.Of(p)
	switch {
	case !admitted || client != nil && !client.AllowsProject(c.Project):
		return Key{}, nil, false
	case client != nil && client.UsesPrincipal():
		return Key{c.Project, client.Name, config.ClientDir(p)}, client, true
	case client != nil:
		return Key{c.Project, client.Name, ""}, client, true
	case len(c.Clients.Tables) > 0:
		return Key{c.Project, others, ""}, nil, true
	}
	return Key{Project: c.Project}, nil, true
}

// WithKey returns the part of c, the complete Catalog of a project, that has a key; nil if the config has no such part.
func (c *Catalog) WithKey(key Key) *Catalog {
	client := c.Clients.Table(key.Client)
	switch {
	case key.Client == "":
		return c
	case client == nil && (key.Client != others || len(c.Clients.Tables) == 0 || !c.Clients.AdmitsOthers()):
		return nil
	case client != nil && (client.UsesPrincipal() != (key.Dir != "") || !client.AllowsProject(c.Project)):
		return nil
	}
	part := c.For(client, key.Dir)
	part.Key = key
	return part
}

// ReportBeside is like Report for the Catalog of a further project. It logs what differs from other, which was reported.
func (c *Catalog) ReportBeside(other *Catalog) {
	for _, p := range c.Plugins {
		var known []remark
		if same := other.Plugin(p.Name); same != nil {
			known = same.remarks()
		}
		for _, r := range p.remarks() {
			if !slices.Contains(known, r) {
				p.log(r)
			}
		}
	}
}
