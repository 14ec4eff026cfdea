package client

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/base/userfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
	"github.com/bulkhead-mcp/bulkhead/sdk/contain"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// Action is what a change does to the entry.
type Action string

// The actions.
const (
	ActionAdd    Action = "add"
	ActionUpdate Action = "update"
	ActionRemove Action = "remove"
	ActionNone   Action = "none" // the file needs no change
)

// Change is a change of an entry in the file of a client.
type Change struct {
	Client  string   `json:"client"`
	Title   string   `json:"title"`
	Scope   Scope    `json:"scope"`
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Target  string   `json:"target,omitempty"` // resolved path of File, if File is a symbolic link
	Creates bool     `json:"creates,omitempty"`
	Action  Action   `json:"action"`
	In      string   `json:"in"`                // dotted path of the object that contains the entries
	Diff    []string `json:"diff,omitempty"`    // lines of the entry, marked with -, + or a space
	Command []string `json:"command,omitempty"` // the client's own command that makes the change; empty if Apply edits the file
	Notes   []string `json:"notes,omitempty"`
	Next    string   `json:"next,omitempty"`   // what the user has to do next
	Backup  string   `json:"backup,omitempty"` // path of a copy of the previous content; Apply sets it
	Changed bool     `json:"changed"`          // whether Apply has made the change
	// Replaces are the names of entries of reference servers that Replace removes, and Restores those that Remove brings back.
	Replaces []string `json:"replaces,omitempty"`
	Restores []string `json:"restores,omitempty"`

	client  *Client
	system  System
	file    *userfile.File
	content []byte
	want    *Entry              // the entry to write; nil to remove the entry
	record  *transaction.Change // change of the record of replaced entries; nil if it does not change
}

// Options select an entry.
type Options struct {
	Scope Scope
	Name  string
	// Only Add uses the others.
	Serve    Serve  // flags of the server in the entry
	URL      string // of a server that runs, which CheckURL accepts; empty: the entry starts one
	TokenEnv string // name of the variable with the bearer token for the URL
}

// Add returns the change that makes a client start the server, or use the one at a URL.
func Add(c *Client, s System, o Options) (*Change, error) {
	change, old, err := open(c, s, o)
	if err != nil {
		return nil, err
	}
	var entry Entry
	if o.URL != "" {
		entry, err = c.remoteEntry(o)
	} else {
		entry, err = c.entry(s, o.Scope, o.Serve)
	}
	if err != nil {
		return nil, err
	}
	change.want, change.Notes = &entry, c.notes(entry)
	path := change.path(old.doc)
	if old.fields != nil {
		if !old.ours(s) {
			return nil, usage.Errorf("%s has an entry %q that starts another server: choose a different name with --name, or remove the entry from the file", change.File, o.Name)
		}
		if (old.entry.URL == "") != (entry.URL == "") {
			return nil, usage.Errorf("%s has an entry %q of the other kind, which starts a program or has a URL: choose a different name with --name, or remove it before, with bulkhead client remove", change.File, o.Name)
		}
		if change.Action = ActionUpdate; old.isEntry && old.entry.satisfies(entry) {
			change.Action = ActionNone
			return change, nil
		}
	}
	change.Next = c.next[o.Scope]
	if kept := c.otherFields(old.fields, c.fields(entry)); kept != "" {
		change.Notes = append(change.Notes, "the entry keeps its other settings ("+kept+"): review them in the file")
	}
	if change.content, err = c.format.set(change.file.Data, path, c.fields(entry)); err != nil {
		return nil, invalidFile(change.File, err)
	}
	var before []string
	fields := c.fieldsToShow(old.fields)
	if old.fields != nil {
		before = c.format.lines(path, fields)
	}
	change.Diff = difference(before, c.format.lines(path, withFields(fields, c.fields(entry))))
	if old.fields == nil {
		change.Action = ActionAdd
		change.setCommand(func(own *ownCommand) []string { return own.add(o.Name, entry) })
	}
	return change, nil
}

// Remove returns the change that removes the entry from the file of a client.
func Remove(c *Client, s System, o Options) (*Change, error) {
	change, old, err := open(c, s, o)
	if err != nil {
		return nil, err
	}
	if old.fields == nil {
		change.Action = ActionNone
		return change, nil
	}
	if !old.ours(s) {
		return nil, usage.Errorf("the entry %q in %s does not start Bulkhead, so it was not removed: edit the file to remove it anyway", o.Name, change.File)
	}
	path := change.path(old.doc)
	if change.content, err = c.format.remove(change.file.Data, path); err != nil {
		return nil, invalidFile(change.File, err)
	}
	change.Action, change.Next = ActionRemove, "restart "+c.Title
	change.Diff = difference(c.format.lines(path, c.fieldsToShow(old.fields)), nil)
	change.setCommand(func(own *ownCommand) []string { return own.remove(o.Name) })
	return change, change.restore()
}

// current is the content of the file, and the entry in it, before the change.
type current struct {
	doc     object
	name    string
	fields  object // fields of the entry; nil if the file has no entry
	entry   Entry
	isEntry bool // whether the fields describe the start of a program or a URL, which is entry
}

// ours reports whether the entry starts a program named like this one, or has a URL and a name that Add accepts for it.
func (c current) ours(s System) bool {
	if c.isEntry && c.entry.URL != "" {
		return isRemoteName(c.name)
	}
	return c.isEntry && (filepath.Base(c.entry.Command) == filepath.Base(s.Program) || sameProgram(c.entry.Command, s.Program))
}

// open reads the file of a client.
func open(c *Client, s System, o Options) (*Change, current, error) {
	if err := checkName(o.Name); err != nil {
		return nil, current{}, err
	}
	path, err := c.file(s, o.Scope, o.Name)
	if err != nil {
		return nil, current{}, err
	}
	if o.Scope == ProjectScope {
		// The author of the project may be untrusted, so a symbolic link in the project must not point to files of the user.
		if _, err := new(contain.Resolver).Inside(s.Project, path); err != nil {
			return nil, current{}, usage.Errorf("%w: remove the link, or use --scope user", err)
		}
	}
	change := &Change{Client: c.ID, Title: c.Title, Scope: o.Scope, Name: o.Name, File: path, client: c, system: s}
	if change.file, err = userfile.Read(path, c.format.read); err != nil {
		return nil, current{}, err
	}
	change.Creates = !change.file.Exists
	if change.file.Exists && change.file.Target != path {
		change.Target = change.file.Target
	}
	old, err := change.current()
	change.In = strings.Join(c.at(old.doc), ".")
	return change, old, err
}

// current returns the entry in the content that was read.
func (c *Change) current() (current, error) {
	doc, err := c.client.format.decode(c.File, c.file.Data)
	if err != nil {
		return current{}, err
	}
	now := current{doc: doc, name: c.Name}
	if value := c.client.servers(doc)[c.Name]; value != nil {
		if now.fields, _ = value.(object); now.fields == nil {
			now.fields = object{}
		}
		now.entry, now.isEntry = c.client.read(now.fields)
	}
	return now, nil
}

func (c *Change) path(doc object) []string {
	return append(slices.Clone(c.client.at(doc)), c.Name)
}

// Apply makes the change, after it has saved a copy of the file.
func (c *Change) Apply(ctx context.Context) error {
	if c.Action == ActionNone {
		return nil
	}
	if c.record != nil {
		return ApplyAll(c.system, []*Change{c}, nil)
	}
	if err := c.backUp(); err != nil {
		return err
	}
	err := error(nil)
	if c.Command != nil {
		err = c.runCommand(ctx)
	} else {
		err = c.replace()
	}
	c.Changed = err == nil
	return err
}

// replace writes the content.
func (c *Change) replace() error {
	// The files of a user may later contain credentials of other servers. Files in a project are meant for everyone who has the
	// project.
	fileMode, dirMode := atomicfile.Options{Mode: 0o600}, atomicfile.Options{Mode: 0o700}
	if c.Scope == ProjectScope {
		fileMode, dirMode = atomicfile.Options{Mode: 0o644}, atomicfile.Options{Mode: 0o755}
	}
	if err := atomicfile.MkdirAll(filepath.Dir(c.file.Target), dirMode); err != nil {
		return usage.Errorf("%s cannot be written: %w", c.File, err)
	}
	return c.file.Replace(c.content, fileMode.Mode)
}

// verify reads the file again and checks that it contains the entry, or no longer contains it.
func (c *Change) verify() error {
	var err error
	if c.file, err = userfile.Read(c.File, c.client.format.read); err != nil {
		return err
	}
	now, err := c.current()
	if err != nil {
		return err
	}
	if c.want == nil && now.fields != nil || c.want != nil && !(now.isEntry && now.entry.satisfies(*c.want)) {
		return errors.New("the file does not contain the change")
	}
	return nil
}
