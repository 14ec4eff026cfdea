// Package project does what the tools offer: it lists, shows, validates and archives the specs and changes
// of one project, and makes new ones. Its methods return data and know neither MCP nor a command line.
//
//	p := &project.Project{Files: filesystem.OS{}, Cwd: cwd, Top: cwd, Now: time.Now()}
//	changes, err := p.ListChanges(project.ByName)
//
// An error of these methods is a *Failure, which says in JSON what the command line 1.13.2 says.
package project

import (
	"errors"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/change"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// defaultSchema is the workflow schema that every project knows.
const defaultSchema = "spec-driven"

// Project is where a call works. Its root is looked for anew by every method.
type Project struct {
	Files filesystem.FS
	Cwd   string    // absolute; the root is looked for from here upwards
	Top   string    // absolute; and not above this
	Now   time.Time // in the zone whose dates name archives
	// Owner tells the claims of this user's calls from those of others; "" is an owner too.
	Owner string
	// Alone says that no other call of the owner that writes is running. Only then is one that was killed
	// told from one that runs, and what it left behind is put in order.
	Alone bool
	// Warn hears of what a caller of the method need not; nil for nobody.
	Warn func(text string)
}

// RootInfo says where an answer comes from.
type RootInfo struct {
	Path string `json:"path"`
	// Source is "nearest" for a root that was there, "implicit" for the place in which one is to be made.
	Source string `json:"source"`
}

func (p *Project) warn(text string) {
	if p.Warn != nil {
		p.Warn(text)
	}
}

// find returns the nearest root. The error is store.ErrNoRoot.
func (p *Project) find() (*store.Root, RootInfo, error) {
	root, err := store.Find(p.Files, p.Cwd, p.Top)
	if err != nil {
		return nil, RootInfo{}, err
	}
	return root, RootInfo{Path: root.Path, Source: "nearest"}, nil
}

// findOrHere returns the nearest root, or the one that the working directory is to become.
func (p *Project) findOrHere() (*store.Root, RootInfo) {
	root, info, err := p.find()
	if err != nil {
		return store.At(p.Files, p.Cwd), RootInfo{Path: p.Cwd, Source: "implicit"}
	}
	return root, info
}

// Interrupted tells whether an archive is under way or was stopped: Recover is then worth a try.
func (p *Project) Interrupted() bool {
	root, _, err := p.find()
	return err == nil && root.Interrupted()
}

// Recover puts in order what a call left behind that was killed. Every method that writes does it first, so
// this is for those that read. It does nothing unless Alone is set.
func (p *Project) Recover() error {
	root, _, err := p.find()
	if errors.Is(err, store.ErrNoRoot) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.recover(root)
}

func (p *Project) recover(root *store.Root) error {
	if !p.Alone {
		return nil
	}
	return root.Recover(p.Owner)
}

// text reads a source for showing: what is not UTF-8 becomes U+FFFD.
func text(source string) *markdown.Text {
	return markdown.Parse(strings.ToValidUTF8(source, "\uFFFD"))
}

// metadata returns what a change's metadata file says, and why it does not count.
func metadata(root *store.Root, c store.Change) (change.Metadata, *change.Invalid, error) {
	source, found, err := c.Read(store.MetadataFile)
	if err != nil || !found {
		return change.Metadata{}, nil, err
	}
	parsed, err := change.ParseMetadata(source, func(name string) bool {
		return name == defaultSchema || root.HasSchema(name)
	})
	if invalid := (*change.Invalid)(nil); errors.As(err, &invalid) {
		return change.Metadata{}, invalid, nil
	}
	return parsed, nil, err
}
