// Package config reads bulkhead.toml, in which an admin lists the plugins and what each may do, and computes
// effective grants: the intersection of what a manifest requests and what the config allows.
//
// Parse reads the config and the files that it includes, Expand replaces its references to environment variables, and
// Decide computes the grant of one plugin. ParseCeiling parses the bounds of an organisation, and Ceiling.Narrow applies
// them to a grant. Decide and Narrow are pure functions. AddPlugin, AddAudit, RemovePlugin and PinPlugin edit the content of a
// parsed config and preserve the rest of it, comments included.
package config

import (
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/origin"
	"github.com/bulkhead-mcp/bulkhead/internal/base/signature"
	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
)

// FileName is the name that a config has by default.
const FileName = "bulkhead.toml"

// HolderPrefix begins the names of staging directories. In those the host creates the granted directories that are absent.
// Plugins can neither see nor create files whose names have this prefix.
const HolderPrefix = ".bulkhead-"

// Config is a checked bulkhead.toml. docs/config.md describes every key.
type Config struct {
	File     string // absolute path of the config; empty: there is no config file
	Server   *Server
	Defaults Defaults
	Audit    *Audit      // nil: no audit log is kept
	HTTP     *HTTPServer // the [http] table; nil: the config has none
	Clients  Clients
	// Credentials are all [credentials] tables, in the order of the config file.
	Credentials []*Credential
	Sources     Sources
	Skills      []SkillDir // the directories of the key skills in [server]
	Projects    []Project  // all [[projects]] tables
	Plugins     []Plugin   // the plugins in the order of the config file, followed by those of included files
	// Files are the files that the config consists of: first File, then each included file.
	Files []File
	// Unread are the paths of included files that could not be read. Each is reported as a problem.
	Unread []string
	// References are the keys whose values contain references to environment variables that Expand has not replaced yet. The keys of
	// Plugins are not among them.
	References []string
	// Warnings are the problems of Parse that are no errors.
	Warnings tomlfile.Problems

	doc  *tomlfile.Doc
	read func(path string) ([]byte, error) // reads included files
}

// Content returns the content of File.
func (c *Config) Content() []byte { return c.doc.Bytes() }

// Own returns the number of plugins that File itself names. They precede those of included files.
func (c *Config) Own() int {
	n := slices.IndexFunc(c.Plugins, func(p Plugin) bool { return p.Included })
	if n < 0 {
		return len(c.Plugins)
	}
	return n
}

// Server is the [server] table. Its name applies even if only one plugin is served.
type Server struct {
	Name   string        // name that the server tells clients; empty: unset
	Title  string        // title that clients show to people; empty: the server has no title
	Drain  time.Duration // time that calls in flight may continue during a shutdown; 0: DefaultDrain
	Memory int64         // most bytes that the workers of all plugins may use together; 0: DefaultMemory
	// If Confined is set, no module runs on a system that lacks one of the layers of process confinement.
	Confined bool
	Tools    string // which tools clients list: one of ToolModes; empty: unset
}

// ToolModes are the values of the key tools in [server], the default first.
var ToolModes = []string{ToolsAll, ToolsSearch, ToolsCode}

// Values of the key tools in [server].
const (
	ToolsAll    = "all"    // all tools are listed
	ToolsSearch = "search" // tools are found and called by the host's own tools
	ToolsCode   = "code"   // tools are found by the host's own tools, and those that read are called by scripts
)

// toolsListed is the value of the key tools of a plugin whose tools are listed in every mode.
const toolsListed = "listed"

// The values of the key confinement in [server].
const (
	confinementAvailable = "available" // the default: use each layer of confinement that the system has
	confinementRequired  = "required"
)

// Defaults of the keys of [server].
const (
	DefaultDrain  = time.Second
	DefaultMemory = 2 << 30 // bytes
)

// Defaults is the [defaults] table.
type Defaults struct {
	Limits  manifest.Limits // limits for plugins whose own tables do not set them
	Deny    []string        // patterns of files that are hidden from every plugin, in addition to the plugin's own
	Approve Approve         // which calls of every plugin need approval
	// ApproveAt has the position of each key of Approve that is set.
	ApproveAt map[string]Position
	// Files has the file of each key of this table that an included file sets. Its keys are deny, limits.memory and so on.
	Files map[string]string
}

// Audit is the [audit] table.
type Audit struct {
	File      string // absolute path of the log
	MaxSize   int64  // size in bytes at which the file is rotated
	Keep      int    // number of rotated files that are kept
	Arguments string // the form in which arguments are logged: argumentsHash, argumentsFull or argumentsNone
	OnFailure string // what happens to calls while no record can be written: FailOpen or FailClosed
	// Also is where a copy of each record goes: AuditJournald, AuditSyslog or AuditStdout.
	Also    []string
	Metrics Metrics
	Traces  Traces
	// TracesAt is the position of otlp_headers_file, or of otlp without it.
	TracesAt Position
	// Live is whether the user's other programs can read the live state of servers.
	Live   bool
	Source string // path of the config file that sets File
	Line   int    // line of the key file in Source
}

// Credential is a [credentials.NAME] table: a header that the host adds to requests, and the source of the header's value.
// A Credential never contains that value. Exactly one of Env, File and Command is set.
type Credential struct {
	Name    string
	Header  string
	Prefix  string   // what precedes the secret in the header's value: "Bearer "
	Env     string   // name of the variable of the host's environment that contains the secret
	File    string   // absolute path of the file that contains the secret
	Command []string // program and arguments of the command that prints the secret
	Source  string   // path of the config that contains the table
	Line    int
}

// Secret is the source of a variable's value, which the host reads when a worker starts. It never contains that value. Exactly one of its
// fields is set.
type Secret struct {
	File    string   // absolute path of the file that contains the value
	Command []string // program and arguments of the command that prints the value
}

// HTTP is an item of the key http: an origin to which a plugin may send requests, or the public web.
type HTTP struct {
	Origin origin.Origin // zero value if PublicWeb is set
	// PublicWeb is set if the item is manifest.PublicWeb, and not an origin. Private and Credential are then unset.
	PublicWeb bool
	// Private allows the origin to have an address of this machine or of its network.
	Private    bool
	Credential *Credential // the credential that the host adds to requests; nil: no credential
}

// Plugin is one [[plugins]] table. Relative paths are resolved against the directory of its file.
type Plugin struct {
	Path   string
	Source string // directory of the source of a plugin that is being developed, whose Path is temporary
	Name   string // name of an installed plugin, if the table sets no path; package discovery then sets Path
	// From is the reference by which the plugin was fetched, if the table sets neither path nor name. Package discovery then sets Path to
	// the directory of the store for SHA256, which alone decides what runs.
	From string
	// Version is the version that SHA256 pins, with the operator of the range in which updates are wanted; empty: unset. Only a table
	// with From has it.
	Version string
	// Signer is the key with which the archive must be signed when it is fetched; the zero value: any, or none. Only a table with From has it.
	Signer     signature.Key
	SHA256     string
	Prefix     string   // prefix of the tool names that clients see
	AllowTools []string // globs of allowed tools; nil: all; empty: none
	DenyTools  []string // globs of denied tools, which override AllowTools
	Prompts    Filter
	Resources  Filter // filter of the resources' URIs
	ReadOnly   bool
	AllowWrite bool
	Approve    Approve
	Always     bool           // offer the plugin even if something is missing that its manifest requires
	FS         []manifest.FS  // granted directories; nil: the manifest's defaults; empty: none
	Deny       []string       // patterns of hidden files, which apply to every granted directory; nil: those of the manifest
	HTTP       []HTTP         // granted origins; nil: those that the manifest names; empty: none
	Git        []manifest.Git // granted repositories; nil: those that the manifest names, read-only; empty: none
	Env        map[string]string
	Secrets    map[string]Secret  // variables whose values are not in the config, by name
	Ask        []interaction.Kind // what calls may ask clients for; nil: what the manifest requests; empty: nothing
	Limits     manifest.Limits
	Isolation  string // the value of isolation: IsolationPristine or IsolationReused
	Listed     bool   // list the plugin's tools whatever Server.Tools is
	Line       int    // line of the [[plugins]] heading; 0 without a config file

	File string // path of the config that has this table, as problems report it; empty without a config file
	Dir  string // absolute path of the directory of File
	// Included is set if File is a file that the config includes.
	Included bool
	Key      string         // key of this table: plugins[2]
	Lines    map[string]int // the line of each key, array item and variable: fs, http[1], env.TOKEN
	// References are the table's keys whose values contain references to environment variables that Expand
	// has not replaced yet. Decide reports each of them.
	References []string
}

// Values of Plugin.Isolation. They decide whether calls share the state of a module instance.
const (
	IsolationPristine = "pristine"
	IsolationReused   = "reused"
)

// Flags are the grants made on the command line. They apply to all plugins.
type Flags struct {
	AllowWrite bool              // grants the write tools of plugins with write = "opt-in"
	Env        map[string]string // values of variables, which plugins get that request them
	Alone      bool              // only one plugin is served, so its tools with alone = false are not offered
}

// Places are the values of the variables in paths. The values are absolute paths without symbolic links.
type Places struct {
	Project string // value of ${project}; empty: no path with ${project} can be granted
	// NoProject is the reason why Project is empty, and the remedy.
	NoProject string
	// Narrow is the reason why Project is the working directory although a repository contains that directory, and the remedy.
	Narrow string
	// Around is the top level of the repository of which Project is a part; empty if Project is no part of one, or if another user may have
	// created the repository.
	Around string
	// Client is the value of ${client} in the paths of [[clients]]; empty: no such path can be granted.
	Client string
	Cwd    string
	Home   string
	State  string // directory that contains the state directories of all plugins; empty: there is no such directory
	// StatePart is the directory below State for the state directories of one of the projects of a server; empty: they are in State itself.
	StatePart string
	// NoState is the reason why State is empty, and the remedy. If both are empty, plugins that request a
	// state directory are offered without one.
	NoState string
}

// Broad reports whether dir is the root directory, the home directory or an ancestor of the home directory. A grant of such
// a directory would grant all of the user's files.
func (p Places) Broad(dir string) bool {
	return dir == filepath.VolumeName(dir)+string(filepath.Separator) || p.Home != "" && contain.Within(dir, p.Home)
}

// Grant is the effective grant of a plugin.
type Grant struct {
	Tools     []manifest.Tool // the tools that clients are offered, in the manifest's order, with names without Prefix
	Withheld  []Withheld      // the tools of the manifest that are not in Tools
	Prefix    string          // prefix of the tool names that clients see
	Prompts   Filter
	Resources Filter // filter of the resources' URIs
	FS        []Mount
	// KeepsState is set if the plugin asks for its state directory, which every plugin has: then it keeps there what matters. It is not set if the
	// plugin may only read.
	KeepsState bool
	// Deny are doublestar patterns of paths relative to each directory of FS. Files and directories that match one of them do
	// not exist for the plugin.
	Deny []string
	HTTP []HTTP // granted origins, without duplicates
	Git  []Git
	Env  map[string]string
	// Secrets are further granted variables, by name. No name is in Env too.
	Secrets map[string]Secret
	Ask     []interaction.Kind // what calls may ask clients for
	Approve []Approval         // which calls need approval
	Limits  manifest.Limits    // the limits of each call; only Fuel may be 0, which means unbounded
	// Reused means that calls share the state of a module instance.
	Reused bool
	// Cuts are the parts of the grant that a ceiling has removed.
	Cuts []Cut
	// LeftOut is the reason why the plugin cannot be offered at all, such as a missing project; empty if the plugin can be
	// offered.
	LeftOut string
}

// Written returns the paths of the directories and repositories that the plugin may write, without its state directory.
func (g *Grant) Written() []string {
	var paths []string
	for _, m := range g.FS {
		if !m.State && m.Access != manifest.Read {
			paths = append(paths, m.Path)
		}
	}
	for _, r := range g.Git {
		if r.Access != manifest.Read {
			paths = append(paths, r.Repo)
		}
	}
	return paths
}

// CanWrite reports whether the grant lets a module change anything that is not its own: files; repositories; and whatever an origin changes
// for a request, of which the host does not judge. The state directory does not count: every plugin has one, and only what it has put there
// itself is in it.
func (g *Grant) CanWrite() bool {
	return len(g.HTTP) > 0 ||
		slices.ContainsFunc(g.FS, func(m Mount) bool { return !m.State && m.Access.Covers(manifest.ReadWrite) }) ||
		slices.ContainsFunc(g.Git, func(r Git) bool { return r.Access.Covers(manifest.ReadWrite) })
}

// Withheld is a tool that is not offered, and the reason with its remedy.
type Withheld struct {
	Tool manifest.Tool
	Why  string
	At   Position // the line that withholds it; the zero value if no line is the reason
	Key  string   // the key in that line, or the absent key of its table; empty: no key is the reason
}

// Mount is a granted directory.
type Mount struct {
	Path   string // absolute path of the directory, cleaned
	Access manifest.Access
	// State marks the plugin's state directory. The host creates that directory, which stays writable under read_only.
	State bool
	// Within are directories that a ceiling allows. Path must resolve to one of them or into one; nil: any directory is allowed.
	Within []string
}

// Git is a granted repository, or a directory that contains granted repositories.
type Git struct {
	Repo    string // absolute path of a directory inside a repository, or of an ancestor of repositories
	Access  manifest.Access
	Remotes []string // URLs that manifest.NormalizeRemote has normalized, or "*" for any remote
	Within  []string // directories that a ceiling allows, as in Mount.Within
}
