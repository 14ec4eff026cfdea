package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// begin is the first step of each change. It completes an interrupted import and reads the index.
func (p *Project) begin() (*index, error) {
	if _, err := p.Exists(); err != nil {
		return nil, err
	}
	if err := p.finishImport(); err != nil {
		return nil, err
	}
	ix, left, err := p.scan()
	if err != nil {
		return nil, err
	}
	p.sweep(left)
	return ix, nil
}

// Create adds an item, and creates the project if the project does not exist. The error is ErrNameTaken, ErrURITaken,
// ErrFull, ErrDamaged if the stored item of the same name or URI is damaged, ErrNewer, or a file system error.
func (p *Project) Create(d item.Draft) error {
	ix, err := p.begin()
	if err != nil {
		return err
	}
	e, err := ix.place(d.Item)
	if err != nil {
		return p.conflictError(e, err)
	}
	if err := p.ensure(); err != nil {
		return err
	}
	created := now()
	return p.write(p.itemPath(e), d, newHeader(d, created, created), nil)
}

// conflictError returns err, the error that index.place returned together with the conflicting entry e. If the file of
// e cannot be read, conflictError returns the read error instead.
func (p *Project) conflictError(e entry, err error) error {
	if !errors.Is(err, ErrNameTaken) && !errors.Is(err, ErrURITaken) {
		return err
	}
	if _, unreadable := p.readItem(e, bufio.NewReader(nil)); unreadable != nil {
		return unreadable
	}
	return err
}

// Replace overwrites an item that Find returned. Replace keeps the name and the URI of the item.
func (p *Project) Replace(s Stored, d item.Draft) error {
	unknown, err := p.unknownKeys(s.entry)
	if err != nil {
		return err
	}
	return p.write(p.itemPath(s.entry), d, newHeader(d, s.created, now()), unknown)
}

// Delete removes an item that Find or FindDamaged returned.
func (p *Project) Delete(s Stored) error {
	if err := p.files.Remove(p.itemPath(s.entry)); err != nil {
		return err
	}
	return p.files.SyncDir(p.dir)
}

// Find returns an item for Replace, Content or Delete. The caller must hold the lock. The error is ErrNotFound,
// ErrDamaged, ErrNewer or a file system error. With ErrDamaged, only the entry of the result is set.
func (p *Project) Find(kind item.Kind, name string) (Stored, error) {
	ix, err := p.begin()
	if err != nil {
		return Stored{}, err
	}
	e, ok := ix.find(kind, name)
	if !ok {
		return Stored{}, ErrNotFound
	}
	stored, err := p.readItem(e, bufio.NewReader(nil))
	stored.entry = e
	return stored, err
}

// FindDamaged returns an item for Delete as Find does. Unlike Find, it also returns a damaged item, of which only Kind
// and Name are set.
func (p *Project) FindDamaged(kind item.Kind, name string) (Stored, error) {
	stored, err := p.Find(kind, name)
	if errors.Is(err, ErrDamaged) {
		stored.Item, err = item.Item{Kind: kind, Name: name}, nil
	}
	return stored, err
}

// Content returns the content of an item that Find returned.
func (p *Project) Content(s Stored) ([]byte, error) {
	_, content, err := p.readWhole(s.entry)
	return content, err
}

func (p *Project) itemPath(e entry) string { return filepath.Join(p.dir, e.file) }

// write atomically writes the file of an item to path.
func (p *Project) write(path string, d item.Draft, h header, unknown map[string]json.RawMessage) error {
	line, err := h.line(unknown)
	if err != nil {
		return err
	}
	return p.put(path, line, d.Content.Bytes)
}

// unknownKeys returns the keys in the header of the entry e that this version of the plugin does not know, with their
// values.
func (p *Project) unknownKeys(e entry) (map[string]json.RawMessage, error) {
	file, err := p.open(e)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	_, line, err := p.readHeader(e, bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	unknown, err := unknownKeys(line)
	if err != nil {
		return nil, p.damaged(e, err)
	}
	return unknown, nil
}
