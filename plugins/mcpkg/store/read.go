package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/mcpkg/item"
)

// Stored is an item that the store holds.
type Stored struct {
	item.Item
	entry   entry
	created string // the creation time in the item's header
}

// List returns the items of a kind in the order of creation. It omits damaged items and calls the warn function for
// each. If the project does not exist, the list is empty.
func (p *Project) List(kind item.Kind) ([]Stored, error) {
	ix, err := p.readIndex()
	if err != nil {
		return nil, err
	}
	var list []Stored
	buffer := bufio.NewReader(nil)
	for _, e := range ix.entries {
		if e.kind != kind {
			continue
		}
		stored, err := p.readItem(e, buffer)
		switch {
		case errors.Is(err, ErrNotFound), errors.Is(err, ErrDamaged):
		case err != nil:
			return nil, err
		default:
			list = append(list, stored)
		}
	}
	return list, nil
}

// Each calls visit for all prompts and then for all resources, both in the order of creation. Each stops and returns
// the error if visit fails or an item is damaged.
func (p *Project) Each(visit func(Stored, []byte) error) error {
	ix, err := p.readIndex()
	if err != nil {
		return err
	}
	slices.SortStableFunc(ix.entries, func(a, b entry) int { return strings.Compare(string(a.kind), string(b.kind)) })
	for _, e := range ix.entries {
		stored, content, err := p.readWhole(e)
		if errors.Is(err, ErrNotFound) {
			continue // another process has deleted the item since the index was read
		}
		if err == nil {
			err = visit(stored, content)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Load returns an item and its content. The error is ErrNotFound, ErrDamaged, ErrNewer or a file system error.
func (p *Project) Load(kind item.Kind, name string) (Stored, []byte, error) {
	e, err := p.look(func(ix *index) (entry, bool) { return ix.find(kind, name) })
	if err != nil {
		return Stored{}, nil, err
	}
	return p.readWhole(e)
}

// LoadURI returns the resource with the given URI, and the content of the resource. The errors are those of Load.
func (p *Project) LoadURI(uri string) (Stored, []byte, error) {
	e, err := p.look(func(ix *index) (entry, bool) { return ix.findURI(uri) })
	if err != nil {
		return Stored{}, nil, err
	}
	return p.readWhole(e)
}

func (p *Project) look(find func(*index) (entry, bool)) (entry, error) {
	ix, err := p.readIndex()
	if err != nil {
		return entry{}, err
	}
	e, ok := find(ix)
	if !ok {
		return entry{}, ErrNotFound
	}
	return e, nil
}

// open opens the file of the entry e. If another process has moved a staged file since the scan, open finds the file in
// the project's directory.
func (p *Project) open(e entry) (*os.File, error) {
	if e.staged {
		file, err := os.Open(filepath.Join(p.importDir(), e.file))
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	file, err := os.Open(filepath.Join(p.dir, e.file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	return file, err
}

func (p *Project) readItem(e entry, buffer *bufio.Reader) (Stored, error) {
	file, err := p.open(e)
	if err != nil {
		return Stored{}, err
	}
	defer file.Close()
	buffer.Reset(file)
	h, _, err := p.readHeader(e, buffer)
	if err != nil {
		return Stored{}, err
	}
	return Stored{h.item(e.kind), e, h.Created}, nil
}

// readHeader reads the first line of the file of the entry e, and returns the parsed header and the line.
func (p *Project) readHeader(e entry, r *bufio.Reader) (header, []byte, error) {
	line, err := readLine(r)
	if err != nil {
		return header{}, nil, p.damaged(e, err)
	}
	h, err := parseHeader(line, e)
	if errors.Is(err, ErrNewer) {
		return header{}, nil, err
	}
	if err != nil {
		return header{}, nil, p.damaged(e, err)
	}
	return h, line, nil
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF):
			return nil, errors.New("the file is truncated: its first line has no line break")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxHeader:
			return nil, fmt.Errorf("the first line has more than %d bytes", maxHeader)
		}
	}
}

func (p *Project) readWhole(e entry) (Stored, []byte, error) {
	file, err := p.open(e)
	if err != nil {
		return Stored{}, nil, err
	}
	defer file.Close()
	return p.parseWhole(e, bufio.NewReader(file))
}

// parseWhole reads the header and the content from the file of the entry e.
func (p *Project) parseWhole(e entry, r *bufio.Reader) (Stored, []byte, error) {
	h, _, err := p.readHeader(e, r)
	if err != nil {
		return Stored{}, nil, err
	}
	content := make([]byte, h.Size)
	if n, err := io.ReadFull(r, content); err != nil {
		return Stored{}, nil, p.damaged(e, fmt.Errorf("the file has %d of %d bytes of content: %w", n, h.Size, err))
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return Stored{}, nil, p.damaged(e, fmt.Errorf("the file has more than the %d bytes of content that its header states", h.Size))
	}
	return Stored{h.item(e.kind), e, h.Created}, content, nil
}

func (p *Project) damaged(e entry, why error) error {
	p.warn(fmt.Sprintf("%s in %s is damaged: %v; restore the file from a backup, or delete the item", e.file, p.dir, why))
	return ErrDamaged
}
