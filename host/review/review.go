// Package review puts manifests into words that a person can judge. Ask says what a plugin asks for, and
// what of it an admin's yes would grant; Compare says in what one manifest differs from another, and where it
// asks for more; Effective says what is granted, and which line or rule decides.
//
// Everything here is a pure function, but for the Leads that the caller passes: no file, no variable, no module is touched. Texts that an author
// wrote are passed on as they are: whoever shows them to a person takes out what steers a terminal.
package review

import (
	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/manifest"
)

// Request is what a plugin asks for.
type Request struct {
	Name         string `json:"name"`
	Version      string `json:"version"`
	Description  string `json:"description"`
	License      string `json:"license,omitempty"`
	Dir          string `json:"dir"`
	Digest       string `json:"sha256"`        // of plugin.toml
	ModuleDigest string `json:"module_sha256"` // that plugin.toml names; empty: none
	Items        []Item `json:"asks_for"`
	Tools        []Tool `json:"tools"`
}

// The kinds of an Item.
const (
	Folder     = "folder"
	Repository = "repository"
	Origin     = "origin"
	Variable   = "variable"
	Limit      = "limit"
	Offer      = "offer" // what it answers beside tools
	Text       = "text"  // what it says to the client's model
)

// Item is one thing that a plugin asks for.
type Item struct {
	Kind     string `json:"kind"`
	What     string `json:"what"`             // the path, origin, name or key as the manifest has it
	Access   string `json:"access,omitempty"` // "r" or "rw"
	Words    string `json:"words"`            // the same for a person
	Why      string `json:"why,omitempty"`    // in the author's words
	Optional bool   `json:"optional,omitempty"`
	Caution  string `json:"caution,omitempty"` // what makes it more than usual
	// NotGiven says why a yes does not grant it, and what would; empty if it does.
	NotGiven string `json:"not_given,omitempty"`
}

// Tool is a tool as an admin judges it.
type Tool struct {
	Name        string `json:"name"` // the plugin's own
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Writes      bool   `json:"writes"`
	Destructive bool   `json:"destructive,omitempty"` // it says so
	WhyNot      string `json:"why_not,omitempty"`     // it would not be offered; empty if it would
}

// Choice is what the admin says beyond yes.
type Choice struct {
	Path       string   // of the plugin, as the config is to name it
	Prefix     string   // of its tools
	ReadOnly   bool     // no tool that writes, no folder and no repository to write
	AllowWrite bool     // the word that write = "opt-in" waits for
	AllowTools []string // globs; nil: all
	Env        []string // variables that get the values that they have where the host is started
}

// Ask puts into words what m asks for. The entry is what the config is to say if the admin agrees: all of it,
// spelled out, but what nobody should grant by saying yes. d are the config's defaults; leads looks where the
// paths lead, nil leaves that out.
func Ask(m *manifest.Manifest, choice Choice, d config.Defaults, places config.Places, leads Leads) (Request, config.Plugin) {
	q := asking{m: m, choice: choice, defaults: d, places: places, leads: leads}
	q.request = Request{
		Name: m.Name, Version: m.Version, Description: m.Description, License: m.License, Dir: m.Dir,
		Digest: m.Digest, ModuleDigest: m.Module.SHA256, Items: []Item{}, Tools: []Tool{},
	}
	q.entry = config.Plugin{
		Path: choice.Path, SHA256: m.Digest, Prefix: choice.Prefix, AllowTools: choice.AllowTools,
		ReadOnly: choice.ReadOnly, AllowWrite: choice.AllowWrite,
		// Not nil: what the file does not name is not granted, whatever a later manifest asks for.
		FS: []manifest.FS{}, HTTP: []config.HTTP{}, Git: []manifest.Git{},
	}
	q.folders()
	q.repositories()
	q.origins()
	q.variables()
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

// asking is the state of one Ask.
type asking struct {
	m        *manifest.Manifest
	choice   Choice
	defaults config.Defaults
	places   config.Places
	leads    Leads
	request  Request
	entry    config.Plugin
}

func (q *asking) add(item Item) { q.request.Items = append(q.request.Items, item) }

// granted is the access that a yes gives.
func (q *asking) granted(asked manifest.Access) manifest.Access {
	if q.choice.ReadOnly {
		return manifest.Read
	}
	return asked
}
