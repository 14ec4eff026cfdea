package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// begin is what each change does first: it ends what an earlier call left, and looks what is there.
func (p *Project) begin() (index, error) {
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

// Create adds an item, and the project if it is not there yet. The error is ErrNameTaken, ErrURITaken,
// ErrFull, ErrDamaged where what is in the way cannot be read, ErrNewer or the system's.
func (p *Project) Create(d item.Draft) error {
	ix, err := p.begin()
	if err != nil {
		return err
	}
	e, err := ix.place(d.Item)
	if err != nil {
		return p.inTheWay(e, err)
	}
	if err := p.make(); err != nil {
		return err
	}
	created := now()
	return p.write(p.itemPath(e), d, newHeader(d, created, created), nil)
}

// inTheWay is why a new item has no place: what place said of the entry e, unless that cannot be read.
func (p *Project) inTheWay(e entry, err error) error {
	if !errors.Is(err, ErrNameTaken) && !errors.Is(err, ErrURITaken) {
		return err
	}
	if _, unreadable := p.readItem(e, bufio.NewReader(nil)); unreadable != nil {
		return unreadable
	}
	return err
}

// Replace writes an item anew that Find found, under its name and URI.
func (p *Project) Replace(s Stored, d item.Draft) error {
	unknown, err := p.unknownKeys(s.entry)
	if err != nil {
		return err
	}
	return p.write(p.itemPath(s.entry), d, newHeader(d, s.created, now()), unknown)
}

// Delete removes an item that Find found.
func (p *Project) Delete(s Stored) error {
	if err := p.files.Remove(p.itemPath(s.entry)); err != nil {
		return err
	}
	return p.files.SyncDir(p.dir)
}

// Find returns an item to Replace or Delete, for who holds the lock. The error is ErrNotFound, ErrDamaged,
// ErrNewer or the system's.
func (p *Project) Find(kind item.Kind, name string) (Stored, error) {
	ix, err := p.begin()
	if err != nil {
		return Stored{}, err
	}
	e, ok := ix.find(kind, name)
	if !ok {
		return Stored{}, ErrNotFound
	}
	return p.readItem(e, bufio.NewReader(nil))
}

// Content returns what an item holds that Find found.
func (p *Project) Content(s Stored) ([]byte, error) {
	_, content, err := p.readWhole(s.entry)
	return content, err
}

func (p *Project) itemPath(e entry) string { return filepath.Join(p.dir, e.file) }

// write puts an item's file at path, whole or not at all.
func (p *Project) write(path string, d item.Draft, h header, unknown map[string]json.RawMessage) error {
	line, err := h.line(unknown)
	if err != nil {
		return err
	}
	return p.put(path, line, d.Content.Bytes)
}

// unknownKeys returns what another version has written into an entry's header.
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
		return nil, fmt.Errorf("%s: %w", e.file, err)
	}
	return unknown, nil
}
