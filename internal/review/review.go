// Package review describes manifests and grants in words for admins. Ask lists what a plugin requests, and
// the config entry that consent would write; Compare lists the differences between two manifests, and marks
// those that request more; Effective explains an effective grant: which line or rule decides each part.
//
// All functions are pure, except for the Resolver that the caller passes. Texts of the plugin's author are returned
// unchanged and are untrusted: the caller must sanitize them for a terminal.
package review

import (
	"github.com/bulkhead-mcp/bulkhead/internal/config"
	"github.com/bulkhead-mcp/bulkhead/internal/interaction"
	"github.com/bulkhead-mcp/bulkhead/internal/manifest"
)

// Request is what a plugin requests.
type Request struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Description  string `json:"description"`
	License      string `json:"license,omitempty"`
	Dir          string `json:"dir"`
	Digest       string `json:"sha256"`        // SHA-256 of plugin.toml
	ModuleDigest string `json:"module_sha256"` // SHA-256 of the module, from plugin.toml; empty: unset
	Items        []Item `json:"asks_for"`
	Tools        []Tool `json:"tools"`
}

// The kinds of an Item.
const (
	Folder     = "folder"
	Repository = "repository"
	Origin     = "origin"
	Variable   = "variable"
	Question   = "question" // what its calls ask clients for
	Limit      = "limit"
	Offer      = "offer" // MCP features beside tools
	Text       = "text"  // instructions for the client's model
)

// Item is one thing that a plugin requests.
type Item struct {
	Kind     string `json:"kind"`
	What     string `json:"what"`             // the path, origin, name or key from the manifest
	Access   string `json:"access,omitempty"` // "r" or "rw"
	Words    string `json:"words"`            // description
	Why      string `json:"why,omitempty"`    // the author's reason
	Optional bool   `json:"optional,omitempty"`
	Caution  string `json:"caution,omitempty"` // what is unusual or dangerous about the item
	// NotGiven is the reason why consent does not grant the item, and the remedy; empty if consent grants the item.
	NotGiven string `json:"not_given,omitempty"`
}

// Tool describes a tool for review.
type Tool struct {
	Name        string `json:"name"` // without the prefix
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Writes      bool   `json:"writes"`
	Destructive bool   `json:"destructive,omitempty"` // as declared by the author
	WhyNot      string `json:"why_not,omitempty"`     // why the tool would not be offered; empty if it would be
}

// Choice contains the admin's choices in addition to the consent.
type Choice struct {
	Path       string   // path of the plugin for the config
	Prefix     string   // prefix of tool names
	ReadOnly   bool     // withhold write tools and write access
	AllowWrite bool     // opt in to the write tools of a plugin with write = "opt-in"
	AllowTools []string // globs; nil: all
	Env        []string // variables that are taken from the host's environment
}

// Ask describes what m requests. The returned entry is the table that is written to the config if the admin consents.
// It lists every grant, and omits requests that are too broad to grant by consent. d are the config's defaults. A nil
// resolver leaves paths unresolved.
func Ask(m *manifest.Manifest, choice Choice, d config.Defaults, places config.Places, resolver Resolver) (Request, config.Plugin) {
	q := inquiry{m: m, choice: choice, defaults: d, places: places, resolver: resolver}
	q.request = Request{
		Name: m.Name, Version: m.Version, Description: m.Description, License: m.License, Dir: m.Dir,
		Digest: m.Digest, ModuleDigest: m.Module.SHA256, Items: []Item{}, Tools: []Tool{},
	}
	// SHA256 pins the reviewed manifest.
	q.entry = config.Plugin{
		Path: choice.Path, SHA256: m.Digest, Prefix: choice.Prefix, AllowTools: choice.AllowTools,
		ReadOnly: choice.ReadOnly, AllowWrite: choice.AllowWrite,
		// Empty, not nil: the config then grants only what the entry lists, even if a later manifest requests more.
		FS: []manifest.FS{}, HTTP: []config.HTTP{}, Git: []manifest.Git{}, Ask: []interaction.Kind{},
	}
	q.directories()
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

// granted returns the access that consent grants.
func (q *inquiry) granted(requested manifest.Access) manifest.Access {
	if q.choice.ReadOnly {
		return manifest.Read
	}
	return requested
}
