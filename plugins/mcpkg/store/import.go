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

// An import adds many files atomically. It writes the files to a temporary directory, and commits the import by
// renaming that directory to "import". Then the import moves the files to the project's directory; readers search both
// directories. The next change completes an interrupted import. If the project does not exist, the import renames the
// temporary directory to the project's directory instead.

func (p *Project) importDir() string { return filepath.Join(p.dir, importFolder) }

// Conflict is the error about an item of an import that cannot be added.
type Conflict struct {
	Item   item.Item // the imported item
	Err    error     // the cause: ErrNameTaken, ErrURITaken, ErrFull, ErrDamaged, ErrNewer or a file system error
	HasURI string    // the URI of the stored item of the same name, if that URI differs from the URI of Item; otherwise ""
}

func (c *Conflict) Error() string {
	return fmt.Sprintf("%s %s: %v", c.Item.Kind.Word(), c.Item.Name, c.Err)
}

func (c *Conflict) Unwrap() error { return c.Err }

// Import atomically adds items to the project. No two of them may have the same name and kind, or the same URI. With
// overwrite, an item replaces the stored item of the same name and URI; Import returns the items that replaced a stored
// item. An error about one of the items is a *Conflict.
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
		// The import is committed at this point, so Import returns no error. The next change moves the remaining files.
		p.warn(fmt.Sprintf("%s: the import is committed, but its files could not be moved: %v; the next change completes the import", p.dir, err))
	}
	return replaced, nil
}

// staging is a file that an import adds to the project, or with which an import replaces a stored file.
type staging struct {
	entry    entry
	header   []byte
	content  []byte
	replaces bool
}

// plan returns the file that an import writes for the draft d. The error is a *Conflict.
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

// createWith atomically creates the project's directory with the files of an import, so that the import need not move
// the files one by one. It returns false if the directory already exists.
func (p *Project) createWith(files []staging) (made bool, err error) {
	if exists, err := filesystem.Exists(p.files, p.dir); exists || err != nil {
		return false, err
	}
	inWorkspace := *p
	inWorkspace.dir = filepath.Dir(p.dir) // atomicfile creates the temporary directory in the workspace's directory
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

// stage writes the files of an import to a temporary directory, and commits the import.
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

// finishImport moves the files of a committed import to the project's directory. Without a committed import it does
// nothing.
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
