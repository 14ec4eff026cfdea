// Package catalog implements the operations on the prompts and resources of one project. Its error messages are those
// that the contract of the plugin prescribes. Start with Select, which reads the names of the project and of its store
// from the environment, and with Open. The package depends neither on MCP nor on a host.
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

// Catalog reads and changes the items of the selected project.
type Catalog struct {
	selected Selection
	files    *store.Project
	around   Dependencies
}

// Dependencies are the functions of the host that a Catalog calls.
type Dependencies struct {
	// Lock takes an exclusive lock, which the host releases when the tool call ends. Every operation that changes the
	// store calls Lock first.
	Lock func(name string) error
	// Claimed returns those of the given names of prompts and URIs of resources that another plugin claims. Clients
	// would never see an item of this plugin with a claimed name or URI. A nil Claimed means that no other plugin
	// claims any.
	Claimed func(prompts, uris []string) (claimed []string, err error)
	// Warn is called with a message about each damaged file of the store.
	Warn func(text string)
}

// Open returns the catalog of the selected project. Open accesses no file.
func Open(s Selection, around Dependencies) *Catalog {
	return &Catalog{selected: s, files: store.Open(s.State, s.Workspace, s.Project, around.Warn), around: around}
}

// Project returns the project's name.
func (c *Catalog) Project() string { return c.selected.Project }

// NotFoundError says that a prompt or resource does not exist.
type NotFoundError struct {
	Kind    item.Kind
	What    string // the requested name of a prompt, or URI of a resource
	Project string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s '%s' not found in project '%s'", e.Kind, item.Show(e.What), e.Project)
}

// List returns the items of a kind in the order of creation.
func (c *Catalog) List(kind item.Kind) ([]item.Item, error) {
	doing := "read " + kind.Word() + "s"
	if err := c.requireProject(doing); err != nil {
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

// Prompt returns a prompt. The error is a *NotFoundError if the prompt does not exist.
func (c *Catalog) Prompt(name string) (item.Draft, error) {
	return c.get(item.Prompt, name, func() (store.Stored, []byte, error) { return c.files.Load(item.Prompt, name) })
}

// Resource returns the resource with a URI. The error is a *NotFoundError if the resource does not exist.
func (c *Catalog) Resource(uri string) (item.Draft, error) {
	return c.get(item.Resource, uri, func() (store.Stored, []byte, error) { return c.files.LoadURI(uri) })
}

func (c *Catalog) get(kind item.Kind, what string, load func() (store.Stored, []byte, error)) (item.Draft, error) {
	doing := "read " + kind.Word() + "s"
	if err := c.requireProject(doing); err != nil {
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

// requireProject returns an error if Selection.MustExist is set and the project does not exist.
func (c *Catalog) requireProject(doing string) error {
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

// failure returns the error message that the contract prescribes for an operation, such as "create prompt", that failed
// with err.
func failure(doing string, err error) error {
	return item.Refuse("Failed to %s: %v", doing, reason(err))
}

// reason returns err without its file paths, because paths of the host mean nothing to the client.
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
