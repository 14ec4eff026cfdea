// Package scratch opens hosts in temporary directories, so that calls of a plugin cannot change files of the user: New creates a directory
// with an empty project and an empty home directory, and Dir.Open opens a host there. Dir.Options is for hosts with a config of their own.
package scratch

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tempdir"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/discovery"
)

// Dir is a temporary directory with a project, a home directory and state directories.
type Dir struct {
	Panics bool // responses of hosts that Open opens have the text of the module's panic in _meta

	root  *tempdir.Dir
	cache string
}

// New creates a Dir. compiled is the host's directory for the cache of compiled code; empty: one in the Dir.
func New(compiled string) (d *Dir, err error) {
	root, err := tempdir.New("scratch")
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove())
		}
	}()
	d = &Dir{root: root, cache: compiled}
	if compiled == "" {
		d.cache = d.Path("cache", "bulkhead")
	}
	return d, errors.Join(os.Mkdir(d.Project(), 0o755), os.Mkdir(d.Home(), 0o755))
}

// Path returns a path in the directory.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.root.Path}, names...)...)
}

// Project returns the value of ${project}.
func (d *Dir) Project() string { return d.Path("project") }

// Home returns the value of ${home}.
func (d *Dir) Home() string { return d.Path("home") }

// State returns the value of ${state} for a plugin.
func (d *Dir) State(plugin string) string { return d.Path("state", "bulkhead", plugin) }

// Compiled returns the cache of compiled code.
func (d *Dir) Compiled() string { return d.cache }

// Close removes the directory.
func (d *Dir) Close() error { return d.root.Remove() }

// Options writes a config, and returns the options of a host with this config. The host's environment has only the directories of d.
func (d *Dir) Options(config string, log hclog.Logger) (discovery.Options, error) {
	file := d.Path("bulkhead.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return discovery.Options{}, err
	}
	env := map[string]string{
		"HOME": d.Home(), "XDG_STATE_HOME": d.Path("state"), "XDG_CACHE_HOME": filepath.Dir(d.cache), "TZ": "UTC",
	}
	// The organisation's ceiling does not apply, since only directories of d are granted.
	system := discovery.WithCeiling(discovery.System{
		Dir: d.Project(), LookupEnv: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}, d.Path("ceiling.toml"), os.Geteuid(), d.Home())
	return discovery.Options{ConfigFile: file, Project: d.Project(), AllTools: true, Log: log, System: system}, nil
}
