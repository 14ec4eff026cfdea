package catalog

import (
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/store"
)

// CreatePrompt adds a prompt to the project.
func (c *Catalog) CreatePrompt(name, content, description string) error {
	draft, err := item.NewPrompt(name, content, description)
	if err != nil {
		return err
	}
	return c.create(draft)
}

// CreateResource adds a resource to the project. The MIME type of the resource decides whether content is text or
// base64.
func (c *Catalog) CreateResource(name, uri, content, mimeType, description string) error {
	draft, err := item.NewResource(name, uri, mimeType, description, func(mimeType string) (item.Content, error) {
		return item.ResourceContent(mimeType, content)
	})
	if err != nil {
		return err
	}
	return c.create(draft)
}

func (c *Catalog) create(d item.Draft) error {
	doing := "create " + d.Kind.Word()
	if err := c.begin(doing); err != nil {
		return err
	}
	if err := c.checkUnclaimed(doing, d); err != nil {
		return err
	}
	return c.conflict(doing, d.Item, c.files.Create(d))
}

// begin takes the lock, so that no other process changes the store between the reads and the write of this change.
func (c *Catalog) begin(doing string) error {
	if err := c.around.Lock(c.files.LockName()); err != nil {
		return failure(doing, fmt.Errorf("the store cannot be locked: %w", err))
	}
	return c.requireProject(doing)
}

// checkUnclaimed returns an error if another plugin claims the name or the URI of one of the drafts.
func (c *Catalog) checkUnclaimed(doing string, drafts ...item.Draft) error {
	if c.around.Claimed == nil {
		return nil
	}
	var prompts, uris []string
	for _, d := range drafts {
		if d.Kind == item.Prompt {
			prompts = append(prompts, d.Name)
		} else {
			uris = append(uris, d.URI)
		}
	}
	claimed, err := c.around.Claimed(prompts, uris)
	if err != nil {
		return failure(doing, err)
	}
	if len(claimed) > 0 {
		return failure(doing, fmt.Errorf("'%s' belongs to another plugin, so clients would not see it here: choose another name or URI", item.Show(claimed[0])))
	}
	return nil
}

// conflict returns the error message that the contract prescribes when adding an item failed with err; nil if err is
// nil.
func (c *Catalog) conflict(doing string, it item.Item, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNameTaken):
		return item.Refuse("%s '%s' already exists in project '%s'", it.Kind, item.Show(it.Name), c.Project())
	case errors.Is(err, store.ErrURITaken):
		return item.Refuse("Resource with URI '%s' already exists in project '%s'", item.Show(it.URI), c.Project())
	case errors.Is(err, store.ErrFull):
		return item.Refuse("Project '%s' has the maximum number of %d prompts and resources", c.Project(), store.MaxItems)
	}
	return failure(doing, err)
}

// Change holds the fields of an update. A nil field keeps the stored value; an empty Description removes the stored
// description.
type Change struct {
	Content     *string
	MIMEType    *string // the new MIME type; set only for resources
	Description *string
}

// Update changes a stored item and returns the changed item.
func (c *Catalog) Update(kind item.Kind, name string, change Change) (item.Item, error) {
	content, err := change.check(kind, name)
	if err != nil {
		return item.Item{}, err
	}
	doing := "update " + kind.Word()
	stored, err := c.find(doing, kind, name, c.files.Find)
	if err != nil {
		return item.Item{}, err
	}
	draft := item.Draft{Item: stored.Item}
	if change.Description != nil {
		draft.Description = *change.Description
	}
	if change.MIMEType != nil {
		draft.MIMEType = *change.MIMEType
	}
	switch {
	case content != nil:
		draft.Content = *content
	case change.Content != nil: // the stored MIME type determines how the content is encoded
		if draft.Content, err = item.ResourceContent(draft.MIMEType, *change.Content); err != nil {
			return item.Item{}, err
		}
	default:
		draft.Content.Binary = stored.Binary
		if draft.Content.Bytes, err = c.files.Content(stored); err != nil {
			return item.Item{}, failure(doing, err)
		}
	}
	if err := c.files.Replace(stored, draft); err != nil {
		return item.Item{}, failure(doing, err)
	}
	return draft.Item, nil
}

// check validates the change before the item is read from the store, and normalizes the MIME type of the change. It
// returns the decoded content, or nil if only the MIME type of the stored item tells how to decode the content.
func (ch *Change) check(kind item.Kind, name string) (content *item.Content, err error) {
	if err := item.CheckName(string(kind), name); err != nil {
		return nil, err
	}
	if ch.Content != nil && *ch.Content == "" {
		return nil, item.EmptyContent(kind)
	}
	if ch.MIMEType != nil {
		kept, err := item.ParseMIMEType(*ch.MIMEType)
		if err != nil {
			return nil, err
		}
		ch.MIMEType = &kept
	}
	if ch.Content != nil && (kind == item.Prompt || ch.MIMEType != nil) {
		var parsed item.Content
		if kind == item.Prompt {
			parsed, err = item.PromptContent(*ch.Content)
		} else {
			parsed, err = item.ResourceContent(*ch.MIMEType, *ch.Content)
		}
		if err != nil {
			return nil, err
		}
		content = &parsed
	}
	if ch.Description != nil {
		if err := item.CheckDescription(kind, *ch.Description); err != nil {
			return nil, err
		}
	}
	return content, ch.any(kind)
}

// any returns an error if all fields of the change are nil.
func (ch *Change) any(kind item.Kind) error {
	if ch.Content != nil || ch.MIMEType != nil || ch.Description != nil {
		return nil
	}
	if kind == item.Prompt {
		return item.Refuse("At least one of content or description must be provided")
	}
	return item.Refuse("At least one of content, mime_type or description must be provided")
}

// Delete permanently removes an item and returns the removed item. If the item was damaged, only Kind and Name of the
// returned item are set.
func (c *Catalog) Delete(kind item.Kind, name string) (item.Item, error) {
	if err := item.CheckName(string(kind), name); err != nil {
		return item.Item{}, err
	}
	doing := "delete " + kind.Word()
	stored, err := c.find(doing, kind, name, c.files.FindDamaged)
	if err != nil {
		return item.Item{}, err
	}
	if err := c.files.Delete(stored); err != nil {
		return item.Item{}, failure(doing, err)
	}
	return stored.Item, nil
}

// find locks the project and returns the item that the function look finds.
func (c *Catalog) find(doing string, kind item.Kind, name string, look func(item.Kind, string) (store.Stored, error)) (store.Stored, error) {
	if err := c.begin(doing); err != nil {
		return store.Stored{}, err
	}
	stored, err := look(kind, name)
	if errors.Is(err, store.ErrNotFound) {
		return stored, item.Refuse("%s '%s' does not exist in project '%s'", kind, item.Show(name), c.Project())
	}
	if err != nil {
		return stored, failure(doing, err)
	}
	return stored, nil
}
