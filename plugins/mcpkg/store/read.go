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

// Stored is an item in the store.
type Stored struct {
	item.Item
	entry   entry
	created string // from the header
}

// List returns the items of a kind in the order of creation; none if the project does not exist. Damaged items are
// omitted, with a warning.
func (p *Project) List(kind item.Kind) ([]Stored, error) {
	if there, err := p.Exists(); err != nil || !there {
		return nil, err
	}
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

// Each visits all items with their contents, prompts first, each kind in the order of List. It
// stops at an error of visit and at a damaged item.
func (p *Project) Each(visit func(Stored, []byte) error) error {
	if there, err := p.Exists(); err != nil || !there {
		return err
	}
	ix, err := p.readIndex()
	if err != nil {
		return err
	}
	slices.SortStableFunc(ix.entries, func(a, b entry) int { return strings.Compare(string(a.kind), string(b.kind)) })
	for _, e := range ix.entries {
		stored, content, err := p.readWhole(e)
		if errors.Is(err, ErrNotFound) {
			continue // deleted concurrently
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

// Load returns an item and its content. The error is ErrNotFound, ErrDamaged, ErrNewer or the system's.
func (p *Project) Load(kind item.Kind, name string) (Stored, []byte, error) {
	e, err := p.look(func(ix *index) (entry, bool) { return ix.find(kind, name) })
	if err != nil {
		return Stored{}, nil, err
	}
	return p.readWhole(e)
}

// LoadURI returns the resource with a URI and its content; errors are those of Load.
func (p *Project) LoadURI(uri string) (Stored, []byte, error) {
	e, err := p.look(func(ix *index) (entry, bool) { return ix.findURI(uri) })
	if err != nil {
		return Stored{}, nil, err
	}
	return p.readWhole(e)
}

func (p *Project) look(find func(*index) (entry, bool)) (entry, error) {
	there, err := p.Exists()
	if err != nil {
		return entry{}, err
	}
	if !there {
		return entry{}, ErrNotFound
	}
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

// open opens an entry's file. A staged one may have been moved concurrently.
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

// readHeader reads the first line of an entry's file and returns it parsed and raw.
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
			return nil, errors.New("it is truncated: its first line has no line break")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		case len(line) > maxHeader:
			return nil, fmt.Errorf("its first line has more than %d bytes", maxHeader)
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

// parseWhole reads an entry's file.
func (p *Project) parseWhole(e entry, r *bufio.Reader) (Stored, []byte, error) {
	h, _, err := p.readHeader(e, r)
	if err != nil {
		return Stored{}, nil, err
	}
	content := make([]byte, h.Size)
	if n, err := io.ReadFull(r, content); err != nil {
		return Stored{}, nil, p.damaged(e, fmt.Errorf("it has %d of %d bytes of content: %w", n, h.Size, err))
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return Stored{}, nil, p.damaged(e, fmt.Errorf("it has more than %d bytes of content", h.Size))
	}
	return Stored{h.item(e.kind), e, h.Created}, content, nil
}

func (p *Project) damaged(e entry, why error) error {
	p.warn(fmt.Sprintf("%s in %s is damaged: %v", e.file, p.dir, why))
	return ErrDamaged
}
