// Package project implements the tools: it lists, shows, validates and archives the specs and changes of one project,
// and creates new changes. Its methods return data, and depend neither on MCP nor on the parsing of a command line.
//
//	p := &project.Project{Files: filesystem.OS{}, Cwd: cwd, Top: cwd, Now: time.Now()}
//	changes, err := p.ListChanges(project.ByName)
//
// All errors of these methods are *Failure, whose JSON form is that of the openspec CLI 1.13.2.
package project

import (
	"errors"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Project is the project on which a call works. Every method searches for the root again.
type Project struct {
	Files filesystem.FS
	Cwd   string    // the absolute path at which the search for the root begins
	Top   string    // the absolute path at which the search for the root ends
	Now   time.Time // the time of the call; its time zone is that of the dates in archive names
	// Owner distinguishes the claims of this user's calls from the claims of other users. The empty string is a valid
	// owner.
	Owner string
	// Alone reports whether no other call of the same owner is writing. If Alone is false, no method recovers
	// interrupted calls, because such a call could still be running.
	Alone bool
	// Warn writes a message to the log. If Warn is nil, messages are discarded.
	Warn func(text string)
}

// RootInfo describes the root from which a result comes.
type RootInfo struct {
	Path string `json:"path"`
	// Source is "nearest" for an existing root, and "implicit" for the directory in which Init would create a root.
	Source string `json:"source"`
}

func (p *Project) warn(text string) {
	if p.Warn != nil {
		p.Warn(text)
	}
}

// find returns the nearest root. The error is store.ErrNoRoot if there is no root.
func (p *Project) find() (*store.Root, RootInfo, error) {
	root, err := store.Find(p.Files, p.Cwd, p.Top)
	if err != nil {
		return nil, RootInfo{}, err
	}
	return root, RootInfo{Path: root.Path, Source: "nearest"}, nil
}

// findOrHere returns the nearest root. If there is no root, it returns the root that Init would create in the working
// directory.
func (p *Project) findOrHere() (*store.Root, RootInfo) {
	root, info, err := p.find()
	if err != nil {
		return store.At(p.Files, p.Cwd), RootInfo{Path: p.Cwd, Source: "implicit"}
	}
	return root, info
}

// Interrupted reports whether an archive is in progress or was interrupted. In that case, a call that only reads should
// call Recover.
func (p *Project) Interrupted() bool {
	root, _, err := p.find()
	return err == nil && root.Interrupted()
}

// Recover completes or rolls back an interrupted call. Only calls that only read need to call Recover, because the
// methods that write recover by themselves. Recover does nothing unless Alone is set.
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

// text parses source for display. Invalid UTF-8 becomes U+FFFD.
func text(source string) *markdown.Text {
	return markdown.Parse(strings.ToValidUTF8(source, "\uFFFD"))
}
