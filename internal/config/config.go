// Package config reads bulkhead.toml, in which an admin lists the plugins and what each may do, and computes
// effective grants: the intersection of what a manifest requests and what the config allows.
//
// Parse reads the config and the files that it includes, Expand replaces its references to environment variables, and
// Decide computes the grant of one plugin. ParseCeiling parses the bounds of an organisation, and Ceiling.Narrow applies
// them to a grant. Decide and Narrow are pure functions. AddPlugin, RemovePlugin and PinPlugin edit the bytes of a config
// and preserve its other content, comments included.
package config

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/origin"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// FileName is the config's usual name.
const FileName = "bulkhead.toml"

// HolderPrefix is the prefix of the names of staging directories, in which the host creates granted directories that are
// absent. Plugins can neither see nor create files with such names.
const HolderPrefix = ".bulkhead-"

// Config is a checked bulkhead.toml. docs/config.md describes every key.
type Config struct {
	File     string // absolute; empty: there is no config file
	Server   *Server
	Defaults Defaults
	Audit    *Audit      // nil: no audit log is kept
	HTTP     *HTTPServer // nil: there is no [http]
	// Credentials are all [credentials] tables, in the file's order.
	Credentials []*Credential
	Plugins     []Plugin // in the file's order, those of included files last
	// Files are the files that the config consists of: File, and then those that it includes.
	Files []File
	// Unread are the paths of files to include that cannot be read, which is a problem.
	Unread []string
	// References are the keys outside of Plugins whose values contain references to environment variables
	// that Expand has not replaced yet.
	References []string
}

// Own returns the number of plugins of the file itself. They precede those of included files.
func (c *Config) Own() int {
	n := slices.IndexFunc(c.Plugins, func(p Plugin) bool { return p.Included })
	if n < 0 {
		return len(c.Plugins)
	}
	return n
}

// Server is [server]. Its name applies even if only one plugin is served.
type Server struct {
	Name   string        // empty: unset
	Title  string        // for people; empty: none
	Drain  time.Duration // how long calls in flight may continue during a shutdown; 0: DefaultDrain
	Memory int64         // bytes that the workers of all plugins may use; 0: DefaultMemory
	// If Confined is set, no module runs on a system that lacks a layer of confinement of processes.
	Confined bool
}

// The values of confinement in [server].
const (
	ConfinementAvailable = "available" // as far as the system supports it, which is the default
	ConfinementRequired  = "required"
)

// Defaults of [server].
const (
	DefaultDrain  = time.Second
	DefaultMemory = 2 << 30 // bytes
)

// Defaults is [defaults].
type Defaults struct {
	Limits manifest.Limits // limits of plugins whose tables do not set them
	Deny   []string        // patterns of hidden files, in addition to those of each plugin
	// Files are the files of the keys that the config includes: deny, limits.memory.
	Files map[string]string
}

// Audit is [audit].
type Audit struct {
	File      string // absolute
	MaxSize   int64  // bytes at which the file is rotated
	Keep      int    // rotated files that are kept
	Arguments string // what is logged of arguments: ArgumentsHash, ArgumentsFull or ArgumentsNone
	OnFailure string // FailOpen or FailClosed
	Source    string // path of the config that contains File
	Line      int    // of the table
}

// Credential is [credentials.NAME]: a header that the host adds to requests, and the source of its value. It
// never contains the value itself. Exactly one of Env and File is set.
type Credential struct {
	Name   string
	Header string
	Prefix string // prefix of the header's value: "Bearer "
	Env    string // the name of a variable of the host's environment
	File   string // absolute
	Source string // path of the config that contains the table
	Line   int
}

// HTTP is an origin that a plugin may send requests to.
type HTTP struct {
	Origin origin.Origin
	// Private allows addresses of this machine and of its network.
	Private    bool
	Credential *Credential // nil: none
}

// Plugin is one [[plugins]] table. Relative paths are resolved against the directory of its file.
type Plugin struct {
	Path       string
	Name       string // of an installed plugin, in place of Path; package discovery then sets Path
	SHA256     string
	Prefix     string   // prefix of the tool names that clients see
	AllowTools []string // globs; nil: all; empty: none
	DenyTools  []string // globs; override AllowTools
	Prompts    Filter
	Resources  Filter // filter of resource URIs
	ReadOnly   bool
	AllowWrite bool
	Always     bool           // offered even if something is missing that the manifest requires
	FS         []manifest.FS  // nil: the manifest's defaults; empty: none
	Deny       []string       // patterns of hidden files, for every granted directory
	HTTP       []HTTP         // nil: the origins that the manifest names; empty: none
	Git        []manifest.Git // nil: the repositories that the manifest names, read-only; empty: none
	Env        map[string]string
	Ask        []interaction.Kind // nil: what the manifest requests; empty: nothing
	Limits     manifest.Limits
	Isolation  string // IsolationPristine or IsolationReused
	Line       int    // line of the [[plugins]] heading; 0 without a config file

	File string // path of the config as problems report it; empty without a config file
	Dir  string // absolute path of its directory
	// Included is set if File is not the config itself but a file that it includes.
	Included bool
	Key      string         // key of the table: plugins[2]
	Lines    map[string]int // lines of keys, of array items and of variables: fs, http[1], env.TOKEN
	// References are the table's keys whose values contain references to environment variables that Expand
	// has not replaced yet. Decide reports each of them.
	References []string
}

// Values of Plugin.Isolation: whether calls share the state of a module instance.
const (
	IsolationPristine = "pristine"
	IsolationReused   = "reused"
)

// Flags are the grants made on the command line. They apply to all plugins.
type Flags struct {
	AllowWrite bool              // opts in to the write tools of plugins with write = "opt-in"
	Env        map[string]string // variables, for the plugins that request them
	Alone      bool              // one plugin is served alone, so its tools with alone = false are not offered
}

// Places are the values of the variables in paths. They are absolute, with symbolic links resolved.
type Places struct {
	Project string // value of ${project}; empty: no path with ${project} can be granted
	// NoProject is the reason why Project is empty, and the remedy.
	NoProject string
	Cwd       string
	Home      string
	State     string // parent of the plugins' state directories; empty: there is none
	// NoState is the reason why State is empty, and the remedy. If both are empty, plugins that request a
	// state directory are offered without one.
	NoState string
}

// Broad reports whether dir is the root directory, the home directory or an ancestor of it, so that granting
// it would grant everything.
func (p Places) Broad(dir string) bool {
	return dir == filepath.VolumeName(dir)+string(filepath.Separator) || p.Home != "" && contain.Within(dir, p.Home)
}

// Grant is the effective grant of a plugin.
type Grant struct {
	Tools     []manifest.Tool // offered tools, in the manifest's order, without Prefix
	Withheld  []Withheld      // the other tools
	Prefix    string          // prefix of the tool names that clients see
	Prompts   Filter
	Resources Filter // filter of resource URIs
	FS        []Mount
	// Deny are doublestar patterns, relative to each directory of FS. Files and directories that match do
	// not exist for the plugin.
	Deny   []string
	HTTP   []HTTP // granted origins, without duplicates
	Git    []Git
	Env    map[string]string
	Ask    []interaction.Kind // what calls may ask clients for
	Limits manifest.Limits    // all are set, but Fuel may be 0: unbounded
	// Reused means that calls share the state of a module instance.
	Reused bool
	// Cuts are what a ceiling has removed.
	Cuts []Cut
	// LeftOut is the reason why the plugin cannot be offered at all, such as a missing project; empty if it
	// can.
	LeftOut string
}

// Withheld is a tool that is not offered, and the reason with its remedy.
type Withheld struct {
	Tool manifest.Tool
	Why  string
}

// Mount is a granted directory.
type Mount struct {
	Path   string // absolute and clean
	Access manifest.Access
	// State marks the plugin's state directory. The host creates it, and it stays writable under read_only.
	State bool
	// Within are the directories of a ceiling. The path must resolve to one of them, or into one; nil: not bounded.
	Within []string
}

// Git is a granted repository, or a directory that contains granted repositories.
type Git struct {
	Repo    string // absolute path of a directory inside a repository, or of one above repositories
	Access  manifest.Access
	Remotes []string // URLs normalized by manifest.NormalizeRemote, or "*" for any
	Within  []string // as of Mount
}
