package config

import (
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
)

// Project is one [[projects]] table: a project that clients reach over HTTP at a path of its own.
type Project struct {
	Name string // the last element of the path of its endpoint
	Path string // absolute path of its directory
	// State is the absolute path of the directory with the state directories of its plugins; empty: one in the state directory of the server.
	State     string
	File      string // path of the config file that has this table
	Key       string // key of this table: projects[2]
	Line      int    // line of the key path
	StateLine int    // line of the key state
}

// MaxProjects bounds the number of projects, since each has a catalog of its own.
const MaxProjects = 1024

func (c *Config) readProjects(tables []*tomlfile.Table) {
	names := map[string]bool{}
	for i, t := range tables {
		p := Project{Name: t.Required("name", `write name = "site": the endpoint is /mcp/site`), Path: t.Required("path", absoluteRemedy),
			State: t.String("state"), File: t.File(), Key: t.Name(), Line: t.LineOf("path"), StateLine: t.LineOf("state")}
		switch {
		case p.Name == "": // already reported
		case !manifest.IsPluginName(p.Name):
			t.Fault("name", fmt.Sprintf("%s is not the name of a project", tomlfile.Quote(p.Name)), "use lowercase letters, digits and -, and begin with a letter")
		case names[p.Name]:
			t.Fault("name", fmt.Sprintf("%s is the name of two projects", tomlfile.Quote(p.Name)), "rename one of them")
		}
		if i == MaxProjects {
			t.Fault("name", fmt.Sprintf("there are more than %d projects", MaxProjects), "serve some of them with another server")
		}
		names[p.Name] = true
		if p.State == "" && t.Has("state") {
			t.Fault("state", "is empty", absoluteRemedy)
		}
		c.readFile(t, "path", p.Key+".path", &p.Path)
		c.readFile(t, "state", p.Key+".state", &p.State)
		c.Projects = append(c.Projects, p)
	}
}
