package host

import (
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

// View is what Open would serve, and what decided about it. Looking opens, makes and starts nothing: no
// module, no log, no folder.
type View struct {
	Config      string // the config's file; empty: there is none
	Defaults    config.Defaults
	Audit       *config.Audit // nil: none is kept
	Credentials []*config.Credential
	Places      config.Places
	Own         []string   // files and folders of the host's own, which plugins do not see
	CacheDir    string     // of compiled modules; empty: there is no place for it
	Plugins     []Standing // in the order in which their tools are listed
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

// ConfigFile is the path of the config that o means, whether it is there or not, and trusted or not.
func ConfigFile(o Options) (string, error) {
	var err error
	if o.System, err = o.System.complete(); err != nil {
		return "", err
	}
	if o.ConfigFile != "" {
		return o.System.absolute(o.ConfigFile), nil
	}
	places, err := findPlaces(o)
	if err != nil {
		return "", err
	}
	file, _ := findConfig(o.System, places)
	return file, nil
}

// FindPlaces says what the variables in paths stand for, in a host that o describes.
func FindPlaces(o Options) (config.Places, error) {
	var err error
	if o.System, err = o.System.complete(); err != nil {
		return config.Places{}, err
	}
	return findPlaces(o)
}

// Look says what Open would serve. The view is not nil where plugins were found, even if the error says that
// they cannot be served together.
func Look(o Options) (*View, error) { return look(o, nil) }

// LookAt is Look as if content stood in the config's file.
func LookAt(o Options, content []byte) (*View, error) {
	if content == nil {
		content = []byte{}
	}
	return look(o, content)
}

func look(o Options, content []byte) (*View, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	o.content = content
	places, err := findPlaces(o)
	if err != nil {
		return nil, err
	}
	found, err := discover(o, places)
	if err == nil && found.untrusted != nil {
		err = &UsageError{found.untrusted}
	}
	if err != nil {
		return nil, err
	}
	h := &Host{places: places, log: o.Log, alone: found.alone()}
	v := &View{
		Config: found.config, Defaults: found.defaults, Audit: found.audit, Credentials: found.credentials,
		Places: places, Own: ownPaths(o.System, places, found), CacheDir: cacheDir(o.System),
	}
	err = h.decide(found, o)
	for i, p := range h.plugins {
		v.Plugins = append(v.Plugins, Standing{
			Name: p.name, Entry: found.plugins[i].entry, Manifest: p.manifest, Grant: p.grant, Problem: p.problem, Problems: p.problems,
		})
	}
	return v, err
}

// Secret tells whether the value of a credential can be read, and says why not. It does not give it away.
func Secret(o Options, c *config.Credential) error {
	system, err := o.System.complete()
	if err != nil {
		return err
	}
	_, err = system.secret(c)
	return err
}
