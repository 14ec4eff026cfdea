// Package project finds the project on which a call works, and reads what several tools need: the root, the kind of an
// item, workflow schemas, metadata, tasks and deltas. The tools themselves are in view, which lists and shows, check,
// which validates, steps, which tells what to do next, and edit, the only one that changes files.
//
//	p := &project.Project{Files: filesystem.OS{}, Cwd: cwd, Top: cwd, Now: time.Now()}
//	changes, err := view.ListChanges(p, view.ByName)
//
// The functions of these packages return data, and depend neither on MCP nor on the parsing of a command line. Their
// errors are *Failure, whose JSON form is that of the openspec CLI 1.13.2.
package project

import (
	"errors"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/openspec/store"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Project is the project on which a call works. Every method, and every function of the packages above, searches for the
// root again.
type Project struct {
	Files filesystem.FS
	Cwd   string    // the absolute path at which the search for the root begins
	Top   string    // the absolute path at which the search for the root ends
	Now   time.Time // the time of the call; its time zone is that of the dates in archive names
	// Owner distinguishes the claims of this user's calls from the claims of other users. The empty string is a valid
	// owner.
	Owner string
	// Alone reports whether no other call of the same owner is writing. If Alone is false, nothing recovers
	// interrupted calls, because such a call could still be running.
	Alone bool
	// Warn writes a message to the log. If Warn is nil, messages are discarded.
	Warn func(text string)
}

// RootInfo describes the root from which a result comes.
type RootInfo struct {
	Path string `json:"path"`
	// Source is "nearest" for an existing root, and "implicit" for the directory in which edit.Init would create a root.
	Source string `json:"source"`
}

// Find returns the nearest root. The error is store.ErrNoRoot if there is no root.
func (p *Project) Find() (*store.Root, RootInfo, error) {
	root, err := store.Find(p.Files, p.Cwd, p.Top)
	if err != nil {
		return nil, RootInfo{}, err
	}
	return root, RootInfo{Path: root.Path, Source: "nearest"}, nil
}

// FindOrHere returns the nearest root. If there is no root, it returns the root that edit.Init would create in the
// working directory.
func (p *Project) FindOrHere() (*store.Root, RootInfo) {
	root, info, err := p.Find()
	if err != nil {
		return store.At(p.Files, p.Cwd), RootInfo{Path: p.Cwd, Source: "implicit"}
	}
	return root, info
}

// Interrupted reports whether an archive is in progress or was interrupted. In that case, a call that only reads should
// call Recover.
func (p *Project) Interrupted() bool {
	root, _, err := p.Find()
	return err == nil && root.Interrupted()
}

// Recover completes or rolls back an interrupted call. Only calls that only read need to call Recover, because
// package edit recovers by itself. Recover does nothing unless Alone is set.
func (p *Project) Recover() error {
	root, _, err := p.Find()
	if errors.Is(err, store.ErrNoRoot) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.RecoverRoot(root)
}

// RecoverRoot completes or rolls back an interrupted call in a root. Calls that write do so before they read. It does
// nothing unless Alone is set.
func (p *Project) RecoverRoot(root *store.Root) error {
	if !p.Alone {
		return nil
	}
	return root.Recover(p.Owner)
}

// Place returns the path of the nearest root, or of the root that edit.Init would create.
func (p *Project) Place() string {
	root, _ := p.FindOrHere()
	return root.Path
}
