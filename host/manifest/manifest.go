// Package manifest reads plugin.toml, in which a plugin's author says what it offers and what it asks
// for. Load reads and checks a plugin's folder; Parse does so for bytes; Manifest.Check adds what is too
// slow for a start: whether the schemas are schemas. It decides nothing about what is granted: that is
// package config.
package manifest

import (
	"encoding/json"
	"path/filepath"
	"time"
)

// FileName is the manifest's name in a plugin's folder.
const FileName = "plugin.toml"

// Manifest is a checked plugin.toml. docs/manifest.md describes every key.
type Manifest struct {
	Dir  string // the plugin's folder, absolute
	File string // the path of plugin.toml, absolute
	// Digest is the SHA-256 of plugin.toml in lower-case hex, which a config pins.
	Digest string

	Name        string
	Version     string // semver
	Description string
	License     string
	Validate    string // ValidateHost or ValidatePlugin
	Write       string // WriteDefault or WriteOptIn
	Reads       string // ReadsOrdered or ReadsConcurrent

	Module       Module
	Build        Build
	Server       Server
	Capabilities Capabilities
	Limits       Limits
	Offers       Offers
	Tools        []Tool // in the file's order
}

// Who checks a call's arguments against the tool's schema.
const (
	ValidateHost   = "host"
	ValidatePlugin = "plugin"
)

// Whether write tools exist without the admin's word.
const (
	WriteDefault = "default"
	WriteOptIn   = "opt-in"
)

// How calls that read are ordered with calls that write.
const (
	ReadsOrdered    = "ordered"    // a read sees the writes that were requested before it, and none that runs meanwhile
	ReadsConcurrent = "concurrent" // a read runs at once, beside writes
)

// Module says where the compiled module is and how to speak to it.
type Module struct {
	File   string // relative to Dir
	Kind   string // KindABI1
	SHA256 string // lower-case hex; empty in a source tree, where the build fills it in
}

// KindABI1 is the one kind of module that this host runs.
const KindABI1 = "abi-1"

// Build says how the module is made; zero where the file has no [build].
type Build struct {
	Go      string   // a Go package to compile, relative to Dir
	Command []string // or a program that writes Module.File
}

// Server is the identity of a plugin that is served alone.
type Server struct {
	Name             string
	Version          string
	ProtocolVersions []string // empty: all that the host speaks; the first answers any other
	Instructions     string
	Failure          string // template of a failure's text: {code} {plugin} {tool} {message}
	NoChanges        bool   // changes = false: clients hear of none, whatever Offers says
}

// Access is how far a grant reaches.
type Access string

// The two degrees of access to a folder or repository, and of a tool.
const (
	Read      Access = "r"
	ReadWrite Access = "rw"
)

// Capabilities are what the plugin asks for.
type Capabilities struct {
	FS   []FS
	Git  []Git
	HTTP []string // origins, each once, or "*"
	Env  []string // names

	HTTPLine int // of http in the file
}

// FS asks for a folder. Path may begin with ${project}, ${cwd}, ${home} or ${state}.
type FS struct {
	Path     string
	Access   Access
	Optional bool
	Why      string
	Line     int // in the file that has it
}

// Git asks for a repository; Repo "*" asks for any.
type Git struct {
	Repo    string
	Access  Access
	Remotes []string // https URLs, which Remote makes comparable, or "*"
	Line    int
}

// Limits bound a call; 0 means that the file is silent. [limits] in a manifest is what the plugin
// needs, in a config what the admin allows.
type Limits struct {
	Memory      int64         // bytes of a module's linear memory
	Time        time.Duration // of a call
	Fuel        int64         // instructions of a call
	Input       int64         // bytes of a request
	Output      int64         // bytes of a response
	Operations  int           // host operations of a call
	Log         int64         // bytes that a call logs
	Files       int           // that a call has open at the same time
	Concurrency int           // calls at the same time
	Queue       time.Duration // that a call waits for its turn

	HTTPRequest     int64 // bytes of a request's body
	HTTPResponse    int64 // bytes of an answer's body
	HTTPConcurrency int   // requests at the same time
}

// Offers are what the plugin answers at call time beside its tools.
type Offers struct {
	Prompts     Claim
	Resources   Claim
	ListChanged bool // its calls say when its lists of prompts or resources change
	Subscribe   bool // its calls say when one of its resources changes
	Completions bool
	Logging     bool // its calls send log messages to the client
}

// Claim is true, false, or the names (prompts) or URI prefixes (resources) that a plugin claims.
type Claim struct {
	Any   bool
	Names []string
}

// Offers tells whether there is anything: any name, or some.
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
	Failure     string          // template, in the place of the server's; empty: there is none
	Input       json.RawMessage // JSON Schema, its keys in the file's order, compact
	Output      json.RawMessage // likewise; nil if absent
	Meta        json.RawMessage // nil if absent
	Line        int             // of its [[tools]] heading
}

// ModuleFile is the absolute path of the compiled module.
func (m *Manifest) ModuleFile() string { return filepath.Join(m.Dir, m.Module.File) }

// Tool is the tool with that name and whether there is one.
func (m *Manifest) Tool(name string) (Tool, bool) {
	for _, t := range m.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}
