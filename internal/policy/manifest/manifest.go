// Package manifest reads plugin.toml, in which a plugin's author declares what the plugin offers and which capabilities it requests.
// Load reads and validates the manifest in a plugin's directory, and Parse validates the bytes of a manifest. Manifest.Check compiles
// the schemas, which is too slow for the start of a server. Package config decides which capabilities are granted.
package manifest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/tomlfile"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/command"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// FileName is the name of the manifest in a plugin's directory.
const FileName = "plugin.toml"

// Manifest is a checked plugin.toml. docs/manifest.md describes every key.
type Manifest struct {
	Dir  string // absolute path of the plugin's directory
	File string // absolute path of plugin.toml
	// Digest is the SHA-256 of plugin.toml in lower-case hex. A config can pin this digest.
	Digest string

	Name        string
	NameLine    int    // line of the key plugin.name
	Version     string // semantic version of the plugin
	Description string
	License     string
	Icon        Icon
	Validate    string // who validates arguments: ValidateHost or ValidatePlugin
	Write       string // whether write tools need an opt-in: WriteDefault or WriteOptIn
	Reads       string // order of reads and writes: ReadsOrdered or ReadsConcurrent

	Module       Module
	Build        Build
	Server       Server
	Capabilities Capabilities
	Limits       Limits
	LimitsLine   int // line of the table limits; 0: there is none
	Offers       Offers
	Tools        []Tool        // the tools in the file's order
	Skills       []Skill       // the skills in the file's order
	Requires     []Requirement // the requirements in the file's order
}

// Values of Manifest.Validate: whether the host or the plugin validates the arguments of a call against the tool's schema.
const (
	ValidateHost   = "host"
	ValidatePlugin = "plugin"
)

// Values of Manifest.Write: whether write tools are offered by default, or only after the admin has opted in.
const (
	WriteDefault = "default"
	WriteOptIn   = "opt-in"
)

// Values of Manifest.Reads: whether calls of read tools are ordered with calls of write tools.
const (
	ReadsOrdered    = "ordered"    // a read waits for earlier writes, and no write runs at the same time
	ReadsConcurrent = "concurrent" // a read starts immediately, and writes may run at the same time
)

// Module is the location, the kind and the digest of the compiled module.
type Module struct {
	File   string // path of the module relative to Manifest.Dir
	Line   int    // line of the key module.file
	Kind   string // kind of the module, such as KindABI1
	SHA256 string // digest of the module in lower-case hex; empty in a source tree, since the build sets it
}

// Values of Module.Kind.
const (
	KindABI1    = "abi-1"   // the module implements ABI 1
	KindCommand = "command" // the module is a program for WASI preview 1, which runs once for each call
	KindExtism  = "extism"  // the module is a plugin of the MCP host hyper-mcp
	KindScript  = "script"  // the module implements ABI 1 and runs the scripts of clients: only the host itself uses it
)

// Build states how the module is built. Either Go or Command is set. If the manifest has no [build], neither is.
type Build struct {
	Go      string   // path of the Go package to compile, relative to Manifest.Dir
	Command []string // the program that writes Module.File, followed by its arguments
}

// Server is the identity that a plugin has for clients when it is served alone.
type Server struct {
	Name    string
	Version string
	// ProtocolVersions are the protocol versions that clients may choose. A client that asks for any other version gets the
	// first of them. If the slice is empty, clients may choose any version that the host supports.
	ProtocolVersions []string
	Instructions     string
	Failure          string // template for the message of a failure, with the placeholders {code}, {plugin}, {tool} and {message}
	NoChanges        bool   // set by changes = false: clients get no change notifications, whatever Offers declares
}

// Access is the access mode of a granted or requested directory or repository.
type Access string

// Values of Access: reading only, or reading and writing. A repository is written by creating branches; Commit, which only repositories have,
// also changes the index and the branch that is checked out.
const (
	Read      Access = "r"
	ReadWrite Access = "rw"
	Commit    Access = "commit"
)

// Covers reports whether access a includes access b. The zero value is no access.
func (a Access) Covers(b Access) bool {
	ascending := []Access{"", Read, ReadWrite, Commit}
	return slices.Index(ascending, a) >= slices.Index(ascending, b)
}

// Capabilities are the capabilities that the plugin requests.
type Capabilities struct {
	FS   []FS
	Deny []string // patterns of files that it does not request, in each directory of FS
	Git  []Git
	HTTP []string           // requested origins without duplicates, "*" or PublicWeb
	Env  []string           // names of requested environment variables
	Ask  []interaction.Kind // what the plugin's calls ask clients for, without duplicates

	DenyLine int // line of the key deny in the file
	HTTPLine int // line of the key http in the file
	AskLine  int // line of the key ask in the file
}

// FS requests a directory. Path may begin with ${project}, ${cwd}, ${home} or ${state}.
type FS struct {
	Path     string
	Access   Access
	Optional bool
	Why      string
	Line     int // line of the request in its file
	// Written is the path as a config has it, with references to variables, whose values are shown nowhere; empty: it has none.
	Written string
}

// Git requests a repository. If Repo is "*", it requests any repository.
type Git struct {
	Repo    string
	Access  Access
	Remotes []string // https URLs as written, which NormalizeRemote has not normalized yet, or "*"
	Line    int
	Written string // as that of FS
}

// Limits are bounds of one call or one plugin. A limit of 0 is unset. In a manifest, [limits] states what the plugin needs; in a
// config, limits state what the admin allows.
type Limits struct {
	Memory      int64         // most bytes of a module's linear memory
	Time        time.Duration // longest duration of a call
	Fuel        int64         // most instructions that a call executes
	Input       int64         // most bytes of a request
	Output      int64         // most bytes of a response
	Operations  int           // most host operations of a call
	Log         int64         // most bytes that a call logs
	Files       int           // most files that a call has open at the same time
	Concurrency int           // most calls that run at the same time
	Queue       time.Duration // longest time that a call waits in the queue
	Ask         time.Duration // longest time that a client may take to answer a question of a call
	Task        time.Duration // longest duration of a call that runs as a task

	HTTPRequest     int64 // most bytes of the body of a web request
	HTTPResponse    int64 // most bytes of the body of a web response
	HTTPConcurrency int   // most web requests in flight at the same time

	Result int64 // most bytes of a tool's result for a model; only configs set it
}

// Offers are the MCP features, other than tools, that the plugin implements.
type Offers struct {
	Prompts     Claim
	Resources   Claim
	ListChanged bool // the plugin's calls notify clients when its list of prompts or resources changes
	Subscribe   bool // the plugin's calls notify clients when one of its resources changes
	Completions bool
	Logging     bool // the plugin's calls send log messages to the client
}

// Claim is the set of prompt names, or of resource URI prefixes, that a plugin claims. If Any is set, it claims all.
type Claim struct {
	Any   bool
	Names []string
	Line  int // line of the claim in its file
}

// Offers reports whether the set c is not empty.
func (c Claim) Offers() bool { return c.Any || len(c.Names) > 0 }

// Task states whether calls of a tool run as tasks, for the clients that support it.
type Task string

// The values of Task.
const (
	TaskNever    Task = ""
	TaskOptional Task = "optional"
	TaskRequired Task = "required" // other clients cannot call the tool
)

// Tool is one [[tools]] table.
type Tool struct {
	Name        string
	Title       string
	Description string
	Write       bool // whether the manifest sets access = "write" for the tool
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
	Hidden      bool            // set by alone = false: the tool is not offered when its plugin is served alone
	Failure     string          // template that overrides Server.Failure for this tool; empty: unset
	Input       json.RawMessage // JSON Schema of the arguments, in compact form, with its keys in the file's order
	Output      json.RawMessage // JSON Schema of the structured result, in the form of Input; nil if absent
	Returns     json.RawMessage // JSON Schema of what a script gets of a call of a tool without Output; not listed; nil if absent
	Meta        json.RawMessage // JSON object that tools/list shows as _meta; nil if absent
	Command     command.Tool    // how a call runs the program, if the module is a command
	Task        Task            // whether calls run as tasks
	AsksFirst   bool            // whether a call runs as a task only when the client has answered its first questions
	Line        int             // line of the [[tools]] heading of the tool
}

// ModuleFile returns the absolute path of the compiled module.
func (m *Manifest) ModuleFile() string { return filepath.Join(m.Dir, m.Module.File) }

// MissingModule returns the problem that there is no file at the module's path.
func (m *Manifest) MissingModule() tomlfile.Problem {
	p := tomlfile.Problem{File: m.File, Line: m.Module.Line, Key: "module.file", What: "there is no module at " + m.ModuleFile()}
	switch {
	case m.Module.SHA256 != "": // the directory is the output of a build, and contains no source
		p.Remedy = fmt.Sprintf("restore the module, or build the plugin from its source with `bulkhead plugin build SOURCE -o %s`", filepath.Dir(m.Dir))
	case m.Build.Go != "" || len(m.Build.Command) > 0:
		p.Remedy = fmt.Sprintf("this is the source of a plugin: build it with `bulkhead plugin build %s`, and name the output directory", m.Dir)
	default:
		p.Remedy = "put the module there, or write how to build it in [build]"
	}
	return p
}

// Tool returns the tool with the given name. The bool reports whether there is one.
func (m *Manifest) Tool(name string) (Tool, bool) {
	for _, t := range m.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}
