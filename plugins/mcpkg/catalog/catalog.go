// Package catalog serves the prompts and resources of one project: it has the rules of what may be done
// to them, and the texts in which it says that something was not. Select finds out which project, Open
// gives access to it. It knows neither MCP nor that it runs in a host.
package catalog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/store"
)

// Catalog is the selected project.
type Catalog struct {
	selected Selection
	files    *store.Project
	around   Surroundings
}

// Surroundings are what a catalog needs of the world around it beside files.
type Surroundings struct {
	// Lock takes the lock of that name, which keeps all others out until the call ends. Each change does.
	Lock func(name string) error
	// Claimed returns those of the names of prompts and URIs of resources that somebody else serves under;
	// what has one of them could never be seen. Nil: nobody does.
	Claimed func(prompts, uris []string) (claimed []string, err error)
	// Warn is told what is wrong with the store.
	Warn func(text string)
}

// Open returns the selected project; no file is touched.
func Open(s Selection, around Surroundings) *Catalog {
	return &Catalog{selected: s, files: store.Open(s.State, s.Workspace, s.Project, around.Warn), around: around}
}

// Project returns the project's name.
func (c *Catalog) Project() string { return c.selected.Project }

// NotFoundError says that there is no such prompt or resource to get.
type NotFoundError struct {
	Kind    item.Kind
	What    string // its name or URI, as asked for
	Project string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s '%s' not found in project '%s'", e.Kind, item.Show(e.What), e.Project)
}

// List returns the items of a kind in the order in which they were created.
func (c *Catalog) List(kind item.Kind) ([]item.Item, error) {
	doing := "read " + kind.Word() + "s"
	if err := c.there(doing); err != nil {
		return nil, err
	}
	stored, err := c.files.List(kind)
	if err != nil {
		return nil, failure(doing, err)
	}
	items := make([]item.Item, len(stored))
	for i, s := range stored {
		items[i] = s.Item
	}
	return items, nil
}

// Prompt returns a prompt; a *NotFoundError if there is none of that name.
func (c *Catalog) Prompt(name string) (item.Draft, error) {
	return c.get(item.Prompt, name, func() (store.Stored, []byte, error) { return c.files.Load(item.Prompt, name) })
}

// Resource returns the resource with that URI; a *NotFoundError if there is none.
func (c *Catalog) Resource(uri string) (item.Draft, error) {
	return c.get(item.Resource, uri, func() (store.Stored, []byte, error) { return c.files.LoadURI(uri) })
}

func (c *Catalog) get(kind item.Kind, what string, load func() (store.Stored, []byte, error)) (item.Draft, error) {
	doing := "read " + kind.Word() + "s"
	if err := c.there(doing); err != nil {
		return item.Draft{}, err
	}
	stored, content, err := load()
	if errors.Is(err, store.ErrNotFound) {
		return item.Draft{}, &NotFoundError{kind, what, c.Project()}
	}
	if err != nil {
		return item.Draft{}, failure(doing, err)
	}
	return item.Draft{Item: stored.Item, Content: item.Content{Bytes: content, Binary: stored.Binary}}, nil
}

// there refuses a project that is not there, where it must be.
func (c *Catalog) there(doing string) error {
	if !c.selected.MustExist {
		return nil
	}
	there, err := c.files.Exists()
	if err != nil {
		return failure(doing, err)
	}
	if !there {
		return item.Refuse("Project '%s' does not exist in workspace '%s'", c.Project(), c.selected.Workspace)
	}
	return nil
}

// failure says that the store let something down, and why.
func failure(doing string, err error) error {
	return item.Refuse("Failed to %s: %v", doing, reason(err))
}

// reason leaves out paths, which say nothing to whoever reads the text.
func reason(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return errors.New("the store is read-only")
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err
	}
	return err
}
