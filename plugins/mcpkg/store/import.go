package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
	"github.com/bulkhead-mcp/bulkhead/sdk/atomicfile"
)

// An import is many files, and happens whole or not at all: they are written in a temporary folder, and
// its new name, import, is what makes all of them part of the project at once. Then they move to their
// places, and readers look for them in both. Whoever changes the project next ends what was left.

func (p *Project) importDir() string { return filepath.Join(p.dir, importFolder) }

// Conflict is an import's item that cannot be put in.
type Conflict struct {
	Item   item.Item // that was to be put in
	Err    error     // ErrNameTaken, ErrURITaken, ErrFull, ErrDamaged, ErrNewer or the system's
	HasURI string    // the other URI of the item that has the name; "" if that is not the reason
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%s %s: %v", c.Item.Kind.Word(), c.Item.Name, c.Err)
}

func (c *Conflict) Unwrap() error { return c.Err }

// Import adds all items, which have different names and URIs, or none. With overwrite, one whose name and
// URI an item of the project has takes that one's place; it returns those that did. An error about one of the
// items is a *Conflict.
func (p *Project) Import(drafts []item.Draft, overwrite bool) (replaced []item.Item, err error) {
	ix, err := p.begin()
	if err != nil {
		return nil, err
	}
	staged := make([]staging, 0, len(drafts))
	for _, d := range drafts {
		s, err := p.plan(ix, d, overwrite)
		if err != nil {
			return nil, err
		}
		if s.replaces {
			replaced = append(replaced, d.Item)
		} else {
			ix = append(ix, s.entry)
		}
		staged = append(staged, s)
	}
	if err := p.make(); err != nil {
		return nil, err
	}
	if len(staged) == 0 {
		return nil, nil
	}
	if err := p.stage(staged); err != nil {
		return nil, err
	}
	if err := p.finishImport(); err != nil {
		// All of it is in the project already; the next change goes on here.
		p.warn(fmt.Sprintf("%s: the import is to be ended: %v", p.dir, err))
	}
	return replaced, nil
}

// staging is a file of an import.
type staging struct {
	entry    entry
	header   []byte
	content  []byte
	replaces bool
}

// plan decides where a draft goes. The error is a *Conflict.
func (p *Project) plan(ix index, d item.Draft, overwrite bool) (staging, error) {
	conflict := func(err error) (staging, error) { return staging{}, &Conflict{Item: d.Item, Err: err} }
	e, err := ix.place(d.Item)
	replaces := overwrite && errors.Is(err, ErrNameTaken)
	if err != nil && !replaces {
		return conflict(p.inTheWay(e, err))
	}
	updated := now()
	created := updated
	var unknown map[string]json.RawMessage
	if replaces {
		old, err := p.readItem(e, bufio.NewReader(nil))
		if err != nil {
			return conflict(err)
		}
		if old.URI != d.URI {
			return staging{}, &Conflict{Item: d.Item, Err: ErrNameTaken, HasURI: old.URI}
		}
		if unknown, err = p.unknownKeys(e); err != nil {
			return conflict(err)
		}
		created = old.created
	}
	line, err := newHeader(d, created, updated).line(unknown)
	if err != nil {
		return conflict(err)
	}
	return staging{e, line, d.Content.Bytes, replaces}, nil
}

// stage writes the files of an import and makes them part of the project.
func (p *Project) stage(files []staging) error {
	var members []atomicfile.Member
	for _, file := range files {
		members = append(members, atomicfile.Member{Name: file.entry.file, Parts: [][]byte{file.header, file.content}})
	}
	return atomicfile.CreateDir(p.importDir(), members, p.options())
}

// finishImport moves the files of an import to their places, if there is one.
func (p *Project) finishImport() error {
	files, err := os.ReadDir(p.importDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := p.files.Rename(filepath.Join(p.importDir(), file.Name()), filepath.Join(p.dir, file.Name())); err != nil {
			return err
		}
	}
	if err := p.files.SyncDir(p.dir); err != nil {
		return err
	}
	return p.files.Remove(p.importDir())
}
