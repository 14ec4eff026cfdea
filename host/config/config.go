// Package config reads bulkhead.toml, in which an admin says which plugins there are and what each may
// do, and decides what is granted: the meeting of what a manifest asks for and what the config gives.
// Load reads the config, Decide takes one plugin's decision. Deciding is pure: it touches no file and
// starts nothing.
package config

import (
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// FileName is the config's usual name.
const FileName = "bulkhead.toml"

// Config is a checked bulkhead.toml. docs/config.md describes every key.
type Config struct {
	File     string // absolute; empty: there is no config file
	Server   *Server
	Defaults Defaults
	Plugins  []Plugin // in the file's order
}

// Server is [server]; where it is present, its name stands even if only one plugin is served.
type Server struct {
	Name string
}

// Defaults is [defaults]: what every plugin gets whose own table is silent.
type Defaults struct {
	Limits manifest.Limits
}

// Plugin is one [[plugins]] table. Relative paths are relative to the config's folder and made absolute.
type Plugin struct {
	Path       string
	SHA256     string
	AllowTools []string // globs; nil: all; empty: none
	DenyTools  []string // globs; deny wins
	ReadOnly   bool
	AllowWrite bool
	FS         []manifest.FS // nil: the manifest's defaults; empty: none
	Env        map[string]string
	Limits     manifest.Limits
	Isolation  string // IsolationPristine or IsolationReused
	Line       int    // of its [[plugins]] heading; 0 without a config file

	File  string         // the config's, as problems name it; empty without one
	Key   string         // the table's own: plugins[2]
	Lines map[string]int // of the table's keys
}

// Isolation of one call's module state from the next's.
const (
	IsolationPristine = "pristine"
	IsolationReused   = "reused"
)

// Flags are what the command line grants, to all plugins alike.
type Flags struct {
	AllowWrite bool              // the word that write = "opt-in" waits for
	Env        map[string]string // for the plugins that ask for them
	Alone      bool              // one plugin is served alone, so hidden tools stay hidden
}

// Places are what the variables in paths stand for; all absolute, links resolved.
type Places struct {
	Project string // empty: there is none that may be granted; NoProject says why
	// NoProject says, when Project is empty, why and what to do about it.
	NoProject string
	Cwd       string
	Home      string
	State     string // the folder that holds each plugin's own state folder
}

// Grant is what a plugin may do.
type Grant struct {
	Tools    []manifest.Tool // granted, in the manifest's order
	Withheld []Withheld      // the others
	FS       []Mount
	Git      []Git
	Env      map[string]string
	Limits   manifest.Limits // with every field set but Fuel, which is 0 where nobody bounds it
	// LeftOut says why the plugin cannot be offered at all (it needs a project and there is none);
	// empty if it can.
	LeftOut string
}

// Withheld is a tool that is not offered, and why, in words that say what would change it.
type Withheld struct {
	Tool manifest.Tool
	Why  string
}

// Mount is a granted folder.
type Mount struct {
	Path   string // absolute and clean
	Access manifest.Access
	// State marks the plugin's own state folder: the host makes it, and a read-only grant leaves it
	// writable.
	State bool
}

// Git is a granted repository.
type Git struct {
	Repo   string // absolute path of a folder in it
	Access manifest.Access
}
