package client

import (
	"maps"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// LocalScope is the scope of entries that a client keeps for one project in the file of the user. Bulkhead lists them, and changes none.
const LocalScope Scope = "local"

// Left is an entry of Bulkhead that changes do not remove.
type Left struct {
	Client  string `json:"client"`
	Title   string `json:"title"`
	Scope   Scope  `json:"scope"`
	Project string `json:"project,omitempty"` // empty for the user's entries
	File    string `json:"file"`
	Name    string `json:"name"`
}

// LeftBy returns the entries of Bulkhead that all clients have and that none of changes removes: those of the user, of the project of s and
// of further projects. A file that cannot be read or parsed has none.
func LeftBy(changes []*Change, s System, projects []string) []Left {
	removed := func(l Left) bool {
		return slices.ContainsFunc(changes, func(c *Change) bool {
			return c.Action == ActionRemove && c.Client == l.Client && c.Scope == l.Scope && c.File == l.File && c.Name == l.Name
		})
	}
	var all []Left
	add := func(l Left) {
		if !removed(l) && !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	if s.Project != "" {
		projects = append([]string{s.Project}, projects...)
	}
	for _, c := range clients {
		if path, err := c.file(s, UserScope, DefaultName); err == nil {
			for _, e := range c.status(s, UserScope, path).Entries {
				add(Left{c.ID, c.Title, UserScope, "", path, e.Name})
			}
			c.addLocal(s, path, add)
		}
		for _, project := range projects {
			in := s
			in.Project = project
			if path, err := c.file(in, ProjectScope, DefaultName); err == nil {
				for _, e := range c.status(in, ProjectScope, path).Entries {
					add(Left{c.ID, c.Title, ProjectScope, project, path, e.Name})
				}
			}
		}
	}
	return all
}

// addLocal calls add with the entries of the scope LocalScope in the user's file of c.
func (c *Client) addLocal(s System, path string, add func(Left)) {
	if c.local == nil {
		return
	}
	data, err := c.format.read(path)
	if err != nil {
		return
	}
	doc, err := c.format.decode(path, data)
	if err != nil {
		return
	}
	projects := c.local(doc)
	for _, project := range slices.Sorted(maps.Keys(projects)) {
		fields, _ := projects[project].(object)
		servers := c.servers(fields)
		for _, name := range slices.Sorted(maps.Keys(servers)) {
			entry, _ := servers[name].(object)
			e, ok := c.read(entry)
			if now := (current{name: name, entry: e, isEntry: ok}); now.ours(s) {
				add(Left{c.ID, c.Title, LocalScope, project, path, name})
			}
		}
	}
}

// RemoveLine returns the command line that removes the entry, in the project of an entry that belongs to one.
func (l Left) RemoveLine() string {
	line := "bulkhead client remove " + l.Client
	switch l.Scope {
	case LocalScope: // only Claude Code has this scope
		return "claude mcp remove --scope local " + visible.ShellWord(l.Name)
	case ProjectScope:
		line += " --scope project --project " + visible.ShellWord(l.Project)
	}
	if l.Name != DefaultName {
		line += " --name " + visible.ShellWord(l.Name)
	}
	return line
}
