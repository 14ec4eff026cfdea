// Package project implements the tools: it lists, shows, validates and archives the specs and changes of one project, and
// creates new ones. Its methods return data and depend neither on MCP nor on a command line.
//
//	p := &project.Project{Files: filesystem.OS{}, Cwd: cwd, Top: cwd, Now: time.Now()}
//	changes, err := p.ListChanges(project.ByName)
//
// Errors of these methods are *Failure, whose JSON is that of the command line 1.13.2.
package project

import (
	"errors"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/markdown"
	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Project is the project of a call. Every method searches for its root again.
type Project struct {
	Files filesystem.FS
	Cwd   string    // absolute; the search for the root begins here
	Top   string    // absolute; and ends here
	Now   time.Time // in the time zone of the dates in archive names
	// Owner distinguishes the claims of this user's calls from those of others; "" is an owner, too.
	Owner string
	// Alone says that no other writing call of the owner runs. Only then can a killed call be distinguished from a running
	// one and recovered.
	Alone bool
	// Warn gets messages for the log; nil: they are dropped.
	Warn func(text string)
}

// RootInfo describes the root of a result.
type RootInfo struct {
	Path string `json:"path"`
	// Source is "nearest" for an existing root, "implicit" for the place where one would be created.
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

// findOrHere returns the nearest root, or the one at the working directory, which does not exist.
func (p *Project) findOrHere() (*store.Root, RootInfo) {
	root, info, err := p.find()
	if err != nil {
		return store.At(p.Files, p.Cwd), RootInfo{Path: p.Cwd, Source: "implicit"}
	}
	return root, info
}

// Interrupted reports whether an archive is in progress or was interrupted, so that a reader calls Recover.
func (p *Project) Interrupted() bool {
	root, _, err := p.find()
	return err == nil && root.Interrupted()
}

// Recover rolls an interrupted call forward or back. Methods that write call it first; calls that only read call it here.
// It does nothing unless Alone is set.
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

// text parses a source for display: invalid UTF-8 becomes U+FFFD.
func text(source string) *markdown.Text {
	return markdown.Parse(strings.ToValidUTF8(source, "\uFFFD"))
}
