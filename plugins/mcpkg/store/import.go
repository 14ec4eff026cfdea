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
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// An import adds many files atomically. It writes them to a temporary directory, and commits them by renaming that
// directory to "import". Then it moves the files to the project's directory; readers search both directories. The next
// change completes an interrupted import. If the project does not exist, the temporary directory is renamed to the
// project's directory instead.

func (p *Project) importDir() string { return filepath.Join(p.dir, importFolder) }

// Conflict is an item of an import that cannot be added.
type Conflict struct {
	Item   item.Item // the imported item
	Err    error     // ErrNameTaken, ErrURITaken, ErrFull, ErrDamaged, ErrNewer or a file system error
	HasURI string    // the URI of the stored item of the same name, if it differs; otherwise ""
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%s %s: %v", c.Item.Kind.Word(), c.Item.Name, c.Err)
}

func (c *Conflict) Unwrap() error { return c.Err }

// Import atomically adds items, whose names and URIs must be unique. With overwrite, an item replaces the stored item
// of the same name and URI; Import returns the items that replaced one. An error about one of the items is a *Conflict.
func (p *Project) Import(drafts []item.Draft, overwrite bool) (replaced []item.Item, err error) {
	ix, err := p.begin()
	if err != nil {
		return nil, err
	}
	staged, updated := make([]staging, 0, len(drafts)), now()
	for _, d := range drafts {
		s, err := p.plan(ix, d, overwrite, updated)
		if err != nil {
			return nil, err
		}
		if s.replaces {
			replaced = append(replaced, d.Item)
		} else {
			ix.add(s.entry)
		}
		staged = append(staged, s)
	}
	if len(staged) > 0 {
		if made, err := p.createWith(staged); made || err != nil {
			return nil, err
		}
	}
	if err := p.ensure(); err != nil {
		return nil, err
	}
	if len(staged) == 0 {
		return nil, nil
	}
	if err := p.stage(staged); err != nil {
		return nil, err
	}
	if err := p.finishImport(); err != nil {
		// The import is committed; the next change completes it.
		p.warn(fmt.Sprintf("%s: the import is committed, but its files could not be moved: %v; the next change completes the import", p.dir, err))
	}
	return replaced, nil
}

// staging is a file that an import adds or replaces.
type staging struct {
	entry    entry
	header   []byte
	content  []byte
	replaces bool
}

// plan determines the file of a draft. The error is a *Conflict.
func (p *Project) plan(ix *index, d item.Draft, overwrite bool, updated string) (staging, error) {
	conflict := func(err error) (staging, error) { return staging{}, &Conflict{Item: d.Item, Err: err} }
	e, err := ix.place(d.Item)
	replaces := overwrite && errors.Is(err, ErrNameTaken)
	if err != nil && !replaces {
		return conflict(p.conflictError(e, err))
	}
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

// createWith atomically creates the project's directory with the files of an import, so that the files need not be
// moved one by one. It returns false if the directory exists.
func (p *Project) createWith(files []staging) (made bool, err error) {
	if exists, err := filesystem.Exists(p.files, p.dir); exists || err != nil {
		return false, err
	}
	inWorkspace := *p
	inWorkspace.dir = filepath.Dir(p.dir) // the directory for temporary files
	if err := atomicfile.MkdirAll(inWorkspace.dir, p.options()); err != nil {
		return false, err
	}
	if err := inWorkspace.ensureLabel(p.workspaceFile(), p.workspace); err != nil {
		return false, err
	}
	line, err := newLabel(p.name)
	if err != nil {
		return false, err
	}
	all := append(members(files), atomicfile.Member{Name: projectFile, Parts: [][]byte{line}})
	return true, atomicfile.CreateDir(p.dir, all, inWorkspace.options())
}

// stage writes the files of an import, and commits the import.
func (p *Project) stage(files []staging) error {
	return atomicfile.CreateDir(p.importDir(), members(files), p.options())
}

func members(files []staging) []atomicfile.Member {
	all := make([]atomicfile.Member, 0, len(files)+1)
	for _, file := range files {
		all = append(all, atomicfile.Member{Name: file.entry.file, Parts: joined(file.header, file.content)})
	}
	return all
}

// finishImport moves the files of a committed import, if any, to the project's directory.
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
