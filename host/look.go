package host

import (
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/discovery"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

// View is what Open would serve, and what decided about it. Looking opens, makes and starts nothing: no
// module, no log, no folder.
type View struct {
	*discovery.Found
	Plugins []Standing // in the order in which their tools are listed
}

// Standing is one plugin: what it asks for, what the config says, and what comes of both.
type Standing struct {
	Name     string
	Entry    config.Plugin
	Manifest *manifest.Manifest // nil: it cannot be read
	Grant    config.Grant       // to be used where Problems have no error
	Problem  string             // why nothing of it is offered; empty if it is
	Problems tomlfile.Problems  // of its manifest and of its part of the config
}

// Look says what Open would serve. The view is not nil where plugins were found, even if the error says that
// they cannot be served together.
func Look(o Options) (*View, error) { return look(discovery.Find(o)) }

// LookAt is Look as if content stood in the config's file.
func LookAt(o Options, content []byte) (*View, error) { return look(discovery.FindAs(o, content)) }

func look(found *discovery.Found, err error) (*View, error) {
	if err == nil && found.Untrusted != nil {
		err = &UsageError{Err: found.Untrusted}
	}
	if err != nil {
		return nil, err
	}
	h := &Host{places: found.Places, log: found.Options.Log, alone: alone(found)}
	v := &View{Found: found}
	err = h.decide(found, found.Options)
	for i, p := range h.plugins {
		v.Plugins = append(v.Plugins, Standing{
			Name: p.name, Entry: found.Candidates[i].Entry, Manifest: p.manifest, Grant: p.grant, Problem: p.problem, Problems: p.problems,
		})
	}
	return v, err
}
