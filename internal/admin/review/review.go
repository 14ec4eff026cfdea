// Package review describes manifests and grants in words for admins. Ask lists what a plugin requests, and returns the config entry
// that would be written if the admin consents. Compare lists the differences between two manifests, and marks those that request
// more. Effective explains an effective grant: it names the line or rule that decides each part.
//
// All functions are pure, except for calls of the Resolver that the caller passes. Strings that the plugin's author wrote are returned
// unchanged and are untrusted: before showing one in a terminal, the caller must sanitize it.
package review

import (
	"github.com/bulkhead-mcp/bulkhead/internal/policy/config"
	"github.com/bulkhead-mcp/bulkhead/internal/policy/manifest"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
)

// Request describes what a plugin requests.
type Request struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Description  string `json:"description"`
	License      string `json:"license,omitempty"`
	Dir          string `json:"dir"`
	Digest       string `json:"sha256"`        // SHA-256 of plugin.toml
	ModuleDigest string `json:"module_sha256"` // SHA-256 of the module that plugin.toml states; empty: it states none
	Items        []Item `json:"asks_for"`
	Tools        []Tool `json:"tools"`
	// Listed is the size of what clients give to the model of the tools that are offered, in each conversation: see Listed.
	Listed int `json:"listed_bytes"`
}

// BytesPerToken is the ratio of Listed to tokens. docs/cost.md has the measurement.
const BytesPerToken = 4

// Listed returns the size of the names, descriptions and input schemas of tools, in bytes.
func Listed(prefix string, tools []manifest.Tool) int {
	size := 0
	for _, t := range tools {
		size += len(prefix) + len(t.Name) + len(t.Description) + len(t.Input)
	}
	return size
}

// Values of Item.Kind.
const (
	Folder     = "folder"
	Repository = "repository"
	Origin     = "origin"
	Variable   = "variable"
	Question   = "question" // a question that the plugin's calls ask clients
	Limit      = "limit"
	Offer      = "offer" // an MCP feature other than tools
	Text       = "text"  // instructions for the client's model, or a note
)

// Item is one thing that a plugin requests.
type Item struct {
	Kind     string `json:"kind"`
	What     string `json:"what"`             // the path, origin, name or key as the manifest has it
	Access   string `json:"access,omitempty"` // "r", "rw" or, of a repository, "commit"
	Words    string `json:"words"`            // description of what the plugin requests
	Why      string `json:"why,omitempty"`    // the reason that the plugin's author gives
	Optional bool   `json:"optional,omitempty"`
	Caution  string `json:"caution,omitempty"` // what is unusual or dangerous about the item
	// NotGiven is the reason why consent does not grant the item, with the remedy; empty if consent grants the item.
	NotGiven string `json:"not_given,omitempty"`
}

// Tool describes a tool for the review.
type Tool struct {
	Name        string `json:"name"` // name of the tool without the prefix of the config
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Writes      bool   `json:"writes"`
	Destructive bool   `json:"destructive,omitempty"` // whether the author declares that the tool is destructive
	WhyNot      string `json:"why_not,omitempty"`     // reason why the tool would not be offered; empty if it would be
}

// Choice contains what the admin chooses in addition to consenting.
type Choice struct {
	Path       string   // path of the plugin that the config gets
	Prefix     string   // prefix of the tool names that clients see
	ReadOnly   bool     // whether to withhold write tools and write access
	AllowWrite bool     // whether to opt in to the write tools of a plugin with write = "opt-in"
	AllowTools []string // globs of the tools to allow; nil: all tools
	PublicWeb  bool     // whether to grant the public web, which consent alone does not grant
	Env        []string // names of the variables whose values come from the host's environment
}

// Ask describes what m requests. The returned entry is the table that is written to the config if the admin consents. The entry lists
// every grant, and omits requests that are too broad to be granted by consent. d are the [defaults] of the config. If resolver is nil,
// paths are not resolved.
func Ask(m *manifest.Manifest, choice Choice, d config.Defaults, places config.Places, resolver Resolver) (Request, config.Plugin) {
	q := inquiry{m: m, choice: choice, defaults: d, places: places, resolver: resolver}
	q.request = Request{
		Name: m.Name, Version: m.Version, Description: m.Description, License: m.License, Dir: m.Dir,
		Digest: m.Digest, ModuleDigest: m.Module.SHA256, Items: []Item{}, Tools: []Tool{},
	}
	// The digest pins the reviewed manifest.
	q.entry = config.Plugin{
		Path: choice.Path, SHA256: m.Digest, Prefix: choice.Prefix, AllowTools: choice.AllowTools,
		ReadOnly: choice.ReadOnly, AllowWrite: choice.AllowWrite,
		// These slices are empty, not nil: a later manifest that requests more then gets no more than the entry lists.
		FS: []manifest.FS{}, HTTP: []config.HTTP{}, Git: []manifest.Git{}, Ask: []interaction.Kind{},
	}
	q.directories()
	q.hidden()
	q.repositories()
	q.origins()
	q.variables()
	q.questions()
	q.limits()
	q.offers()
	q.texts()
	for _, t := range m.Tools {
		q.request.Tools = append(q.request.Tools, Tool{
			Name: t.Name, Title: t.Title, Description: t.Description, Writes: t.Write, Destructive: t.Destructive != nil && *t.Destructive,
		})
	}
	return q.request, q.entry
}

// inquiry is the state of one call of Ask.
type inquiry struct {
	m        *manifest.Manifest
	choice   Choice
	defaults config.Defaults
	places   config.Places
	resolver Resolver
	request  Request
	entry    config.Plugin
}

func (q *inquiry) add(item Item) { q.request.Items = append(q.request.Items, item) }

// granted returns the access that consent grants for the requested access.
func (q *inquiry) granted(requested manifest.Access) manifest.Access {
	if q.choice.ReadOnly {
		return manifest.Read
	}
	return requested
}
