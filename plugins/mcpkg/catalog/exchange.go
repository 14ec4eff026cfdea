package catalog

import (
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/exchange"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/store"
)

var errTooLarge = fmt.Errorf("the exported file is larger than %d MiB as a JSON string, the limit of a response: move items to another project", item.MaxJSON>>20)

// Export returns the whole project as one JSON file. Export fails if an item is damaged, because a file without the
// damaged item would look complete.
func (c *Catalog) Export() (string, error) {
	const doing = "export project"
	if err := c.requireProject(doing); err != nil {
		return "", err
	}
	var drafts []item.Draft
	size := 0
	err := c.files.Each(func(s store.Stored, content []byte) error {
		if size += len(content); size > item.MaxJSON {
			return errTooLarge
		}
		drafts = append(drafts, item.Draft{Item: s.Item, Content: item.Content{Bytes: content, Binary: s.Binary}})
		return nil
	})
	if err != nil {
		return "", failure(doing, err)
	}
	text, err := exchange.Write(c.Project(), drafts)
	if err == nil && item.JSONLen(text) > item.MaxJSON {
		err = errTooLarge
	}
	if err != nil {
		return "", failure(doing, err)
	}
	return text, nil
}

// Imported is the result of an import.
type Imported struct {
	Prompts, Resources int
	Replaced           []item.Item // the stored items that an imported item of the same name replaced
}

// Import atomically adds the items of an exported file to the project. With overwrite, the imported items replace
// stored prompts and resources of the same name.
func (c *Catalog) Import(text string, overwrite bool) (Imported, error) {
	const doing = "import project"
	drafts, err := exchange.Parse(text)
	if err != nil {
		return Imported{}, failure(doing, err)
	}
	if err := c.begin(doing); err != nil {
		return Imported{}, err
	}
	if err := c.checkUnclaimed(doing, drafts...); err != nil {
		return Imported{}, err
	}
	replaced, err := c.files.Import(drafts, overwrite)
	if clash := (*store.Conflict)(nil); errors.As(err, &clash) {
		return Imported{}, c.clash(doing, clash, overwrite)
	}
	if err != nil {
		return Imported{}, failure(doing, err)
	}
	done := Imported{Replaced: replaced}
	for _, d := range drafts {
		if d.Kind == item.Prompt {
			done.Prompts++
		} else {
			done.Resources++
		}
	}
	return done, nil
}

// clash returns the error message for a conflict between an imported item and a stored item. The message names a
// remedy.
func (c *Catalog) clash(doing string, clash *store.Conflict, overwrite bool) error {
	err := c.conflict(doing, clash.Item, clash.Err)
	switch {
	case clash.HasURI != "":
		return fmt.Errorf("%w with the URI '%s', which an import cannot change: delete the stored resource first", err, item.Show(clash.HasURI))
	case errors.Is(clash.Err, store.ErrNameTaken) && !overwrite:
		return fmt.Errorf("%w; nothing was imported. Set overwrite to replace items of the same name", err)
	}
	return fmt.Errorf("%w; nothing was imported", err)
}
