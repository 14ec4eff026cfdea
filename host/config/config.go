// Package config reads bulkhead.toml, in which an admin says which plugins there are and what each may
// do, and decides what is granted: the meeting of what a manifest asks for and what the config gives.
// Load reads the config, Expand puts in what the environment has, and Decide takes one plugin's decision.
// Deciding is pure: it touches no file and no variable and starts nothing. AddPlugin, RemovePlugin and
// PinPlugin edit a config's bytes and keep what a person wrote around it.
package config

import (
	"time"

	"github.com/bulkhead-mcp/bulkhead/host/internal/origin"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// FileName is the config's usual name.
const FileName = "bulkhead.toml"

// HolderPrefix begins the name of a directory in which the host prepares a granted one that is absent. No
// plugin sees such a name or makes it.
const HolderPrefix = ".bulkhead-"

// Config is a checked bulkhead.toml. docs/config.md describes every key.
type Config struct {
	File     string // absolute; empty: there is no config file
	Server   *Server
	Defaults Defaults
	Audit    *Audit // nil: no audit log is kept
	// Credentials are those that plugins' HTTP refers to, in the file's order.
	Credentials []*Credential
	Plugins     []Plugin // in the file's order
	// References are the keys outside of Plugins whose values name environment variables that Expand has
	// not put in yet.
	References []string
}

// Server is [server]; where it has a name, that stands even if only one plugin is served.
type Server struct {
	Name   string        // empty: the file says nothing
	Drain  time.Duration // how long calls in flight may go on when the server is told to end; 0: DefaultDrain
	Memory int64         // bytes that the workers of all plugins may take; 0: DefaultMemory
	// Confined refuses to run modules where the system cannot confine their processes in every way.
	Confined bool
}

// The values of confinement in [server].
const (
	ConfinementAvailable = "available" // what the system has, which is the default
	ConfinementRequired  = "required"
)

// What holds where the config says nothing.
const (
	DefaultDrain  = time.Second
	DefaultMemory = 2 << 30 // bytes
)

// Defaults is [defaults]: what every plugin gets whose own table is silent.
type Defaults struct {
	Limits manifest.Limits
	Deny   []string // patterns of files, in addition to the plugin's own
}

// Audit is [audit].
type Audit struct {
	File      string // absolute
	MaxSize   int64  // bytes at which the file is rotated
	Keep      int    // rotated files that are kept
	Arguments string // of calls: ArgumentsHash, ArgumentsFull or ArgumentsNone
	OnFailure string // FailOpen or FailClosed
	Line      int
}

// Credential is [credentials.NAME]: a header that the host adds to requests, and where its value comes
// from. The value itself is never here. Exactly one of Env and File is set.
type Credential struct {
	Name   string
	Header string
	Prefix string // of the header's value: "Bearer "
	Env    string // the name of a variable of the host's environment
	File   string // absolute
	Line   int
}

// HTTP is an origin that a plugin may ask.
type HTTP struct {
	Origin origin.Origin
	// Private lets the host be this machine or one of its network.
	Private    bool
	Credential *Credential // nil: none
}

// Plugin is one [[plugins]] table. Relative paths are relative to the config's folder and made absolute.
type Plugin struct {
	Path       string
	SHA256     string
	Prefix     string   // of every tool's name, as clients see it
	AllowTools []string // globs; nil: all; empty: none
	DenyTools  []string // globs; deny wins
	Prompts    Filter
	Resources  Filter // of URIs
	ReadOnly   bool
	AllowWrite bool
	FS         []manifest.FS  // nil: the manifest's defaults; empty: none
	Deny       []string       // patterns of files in every granted folder
	HTTP       []HTTP         // nil: the origins that the manifest names; empty: none
	Git        []manifest.Git // nil: the repositories that the manifest names, to read; empty: none
	Env        map[string]string
	Limits     manifest.Limits
	Isolation  string // IsolationPristine or IsolationReused
	Line       int    // of its [[plugins]] heading; 0 without a config file

	File  string         // the config's, as problems name it; empty without one
	Key   string         // the table's own: plugins[2]
	Lines map[string]int // of the table's keys, of items and of variables: fs, http[1], env.TOKEN
	// References are the table's keys whose values name environment variables that Expand has not put in
	// yet; Decide refuses to go on without.
	References []string
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
	Alone      bool              // tools that a plugin hides when it is served alone are not offered
}

// Places are what the variables in paths stand for; all absolute, links resolved.
type Places struct {
	Project string // empty: there is none that may be granted; NoProject says why
	// NoProject says, when Project is empty, why and what to do about it.
	NoProject string
	Cwd       string
	Home      string
	State     string // the folder that holds each plugin's own state folder; empty: there is none
	// NoState says, when there is no place for a state folder that a plugin asks for, why and what to do about
	// it. Where it is empty too, such a plugin is offered without.
	NoState string
}

// Broad tells whether dir is the root, the home folder or one that holds it: with it everything would be
// granted.
func (p Places) Broad(dir string) bool {
	return dir == "/" || p.Home != "" && within(p.Home, dir)
}

// Grant is what a plugin may do.
type Grant struct {
	Tools     []manifest.Tool // granted, in the manifest's order, by the plugin's own names
	Withheld  []Withheld      // the others
	Prefix    string          // of every tool's name, as clients see it
	Prompts   Filter
	Resources Filter // of URIs
	FS        []Mount
	// Deny are patterns, relative to each folder of FS, of files and folders that do not exist for the
	// plugin. They are those of doublestar.Match.
	Deny   []string
	HTTP   []HTTP // each origin once
	Git    []Git
	Env    map[string]string
	Limits manifest.Limits // with every field set but Fuel, which is 0 where nobody bounds it
	// Reused: a call may find what an earlier one left in the module.
	Reused bool
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

// Git is a granted folder of repositories.
type Git struct {
	Repo    string // absolute path of a folder in one, or of one that holds some
	Access  manifest.Access
	Remotes []string // URLs as manifest.Remote gives them, or "*" for any
}
