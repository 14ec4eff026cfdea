// Package manifest reads plugin.toml, in which a plugin's author declares what the plugin offers and which
// capabilities it requests. Load reads and validates the manifest in a plugin's directory, Parse does so for
// bytes, and Manifest.Check compiles the schemas, which is too slow for the start of a server. Package config
// decides what is granted.
package manifest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/tomlfile"
)

// FileName is the manifest's name in a plugin's directory.
const FileName = "plugin.toml"

// Manifest is a checked plugin.toml. docs/manifest.md describes every key.
type Manifest struct {
	Dir  string // the plugin's directory, absolute
	File string // the path of plugin.toml, absolute
	// Digest is the SHA-256 of plugin.toml in lower-case hex, which a config pins.
	Digest string

	Name        string
	NameLine    int    // line of plugin.name
	Version     string // semver
	Description string
	License     string
	Icon        Icon
	Validate    string // ValidateHost or ValidatePlugin
	Write       string // WriteDefault or WriteOptIn
	Reads       string // ReadsOrdered or ReadsConcurrent

	Module       Module
	Build        Build
	Server       Server
	Capabilities Capabilities
	Limits       Limits
	Offers       Offers
	Tools        []Tool        // in the file's order
	Requires     []Requirement // in the file's order
}

// Values of Manifest.Validate: who validates the arguments of a call against the tool's schema.
const (
	ValidateHost   = "host"
	ValidatePlugin = "plugin"
)

// Values of Manifest.Write: whether write tools are offered by default or only after the admin opts in.
const (
	WriteDefault = "default"
	WriteOptIn   = "opt-in"
)

// Values of Manifest.Reads: whether reads are ordered with writes.
const (
	ReadsOrdered    = "ordered"    // a read waits for earlier writes, and excludes concurrent ones
	ReadsConcurrent = "concurrent" // a read runs immediately, concurrently with writes
)

// Module is the location and kind of the compiled module.
type Module struct {
	File   string // relative to Dir
	Line   int    // line of file
	Kind   string // KindABI1
	SHA256 string // lower-case hex; empty in a source tree, since the build sets it
}

// KindABI1 is the only kind of module that this host runs.
const KindABI1 = "abi-1"

// Build describes how the module is built. It is the zero value if the manifest has no [build].
type Build struct {
	Go      string   // a Go package to compile, relative to Dir
	Command []string // or a program that writes Module.File
}

// Server is the identity of a plugin that is served alone.
type Server struct {
	Name             string
	Version          string
	ProtocolVersions []string // empty: all that the host supports; the first answers a client that asks for any other
	Instructions     string
	Failure          string // template of a failure's text: {code} {plugin} {tool} {message}
	NoChanges        bool   // changes = false: clients get no change notifications, whatever Offers says
}

// Access is the access mode of a grant.
type Access string

// The two access modes of a directory or repository.
const (
	Read      Access = "r"
	ReadWrite Access = "rw"
)

// Capabilities are what the plugin requests.
type Capabilities struct {
	FS   []FS
	Git  []Git
	HTTP []string           // origins, each once, or "*"
	Env  []string           // names
	Ask  []interaction.Kind // what the plugin's calls ask clients for, each once

	HTTPLine int // line of http in the file
	AskLine  int // line of ask in the file
}

// FS requests a directory. Path may begin with ${project}, ${cwd}, ${home} or ${state}.
type FS struct {
	Path     string
	Access   Access
	Optional bool
	Why      string
	Line     int // in its file
}

// Git requests a repository; Repo "*" requests any.
type Git struct {
	Repo    string
	Access  Access
	Remotes []string // https URLs, not yet passed to NormalizeRemote, or "*"
	Line    int
}

// Limits are bounds of a call; 0 means unset. [limits] in a manifest is what the plugin needs, in a config
// what the admin allows.
type Limits struct {
	Memory      int64         // bytes of a module's linear memory
	Time        time.Duration // of a call
	Fuel        int64         // instructions of a call
	Input       int64         // bytes of a request
	Output      int64         // bytes of a response
	Operations  int           // host operations of a call
	Log         int64         // bytes that a call logs
	Files       int           // files that a call has open at the same time
	Concurrency int           // calls at the same time
	Queue       time.Duration // time that a call waits in the queue
	Ask         time.Duration // time that a client has to answer what a call asks

	HTTPRequest     int64 // bytes of a request's body
	HTTPResponse    int64 // bytes of a response's body
	HTTPConcurrency int   // requests at the same time
}

// Offers are the MCP features that the plugin implements beside its tools.
type Offers struct {
	Prompts     Claim
	Resources   Claim
	ListChanged bool // its calls notify clients when its lists of prompts or resources change
	Subscribe   bool // its calls notify clients when one of its resources changes
	Completions bool
	Logging     bool // its calls send log messages to the client
}

// Claim is the set of prompt names or of resource URI prefixes that a plugin claims: any, some or none.
type Claim struct {
	Any   bool
	Names []string
	Line  int // in its file
}

// Offers reports whether c claims any name.
func (c Claim) Offers() bool { return c.Any || len(c.Names) > 0 }

// Tool is one [[tools]] table.
type Tool struct {
	Name        string
	Title       string
	Description string
	Write       bool // access = "write"
	Destructive *bool
	Idempotent  *bool
	OpenWorld   *bool
	Hidden      bool            // alone = false: not offered when the plugin is served alone
	Failure     string          // template that overrides the server's; empty: unset
	Input       json.RawMessage // JSON Schema, its keys in the file's order, compact
	Output      json.RawMessage // JSON Schema like Input; nil if absent
	Meta        json.RawMessage // nil if absent
	Line        int             // line of its [[tools]] heading
}

// ModuleFile returns the absolute path of the compiled module.
func (m *Manifest) ModuleFile() string { return filepath.Join(m.Dir, m.Module.File) }

// MissingModule returns the problem that the module does not exist.
func (m *Manifest) MissingModule() tomlfile.Problem {
	p := tomlfile.Problem{File: m.File, Line: m.Module.Line, Key: "module.file", What: "there is no module at " + m.ModuleFile()}
	switch {
	case m.Module.SHA256 != "": // the output of a build, which has no source
		p.Remedy = fmt.Sprintf("restore it, or build the plugin from its source with `bulkhead plugin build SOURCE -o %s`", filepath.Dir(m.Dir))
	case m.Build.Go != "" || len(m.Build.Command) > 0:
		p.Remedy = fmt.Sprintf("this is a source: build it with `bulkhead plugin build %s`, and name the output directory", m.Dir)
	default:
		p.Remedy = "put it there, or write how to build it in [build]"
	}
	return p
}

// Tool returns the tool with that name, and whether there is one.
func (m *Manifest) Tool(name string) (Tool, bool) {
	for _, t := range m.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}
