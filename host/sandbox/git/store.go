package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// What one operation may cost, whatever the repository holds.
const (
	maxObject = 64 << 20 // bytes of an object that is read on the way to another
	maxMeta   = 16 << 20 // bytes of a commit or a tree
	maxWork   = 1 << 30  // bytes inflated and patched
	maxPacks  = 512      // open at the same time
	maxNames  = 64 << 10 // files in one folder
	keepBases = 16 << 20 // bytes of objects kept, as bases of others
	keepOne   = 1 << 20  // bytes of one object that is kept
)

// object is an object's content.
type object struct {
	kind plumbing.ObjectType
	data []byte // shared with the store: not to be changed
}

// base is a place where an object that others are deltas of was read.
type base struct {
	pack   *pack
	offset int64
}

// store reads objects for the time of one operation: loose, packed, and those of alternates.
type store struct {
	ctx   context.Context
	repo  *repository
	packs []*pack // the one that had the last object comes first
	bases map[base]object
	kept  int
	work  int64
	zlib  io.ReadCloser // reset for each loose object, as is what it reads from
	file  bufio.Reader
}

func (r *repository) openStore(ctx context.Context) (*store, error) {
	s := &store{ctx: ctx, repo: r, bases: map[base]object{}}
	if err := s.listPacks(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *store) close() {
	for _, p := range s.packs {
		p.close()
	}
	s.packs = nil
}

// listPacks opens the indexes of the packs that it has not yet opened.
func (s *store) listPacks() error {
	for _, dir := range s.repo.stores {
		dir = path.Join(dir, "pack")
		names, err := s.repo.root.list(dir, maxNames)
		if err != nil {
			return err
		}
		for _, name := range names {
			stem, ok := strings.CutSuffix(name, ".idx")
			if !ok || !slices.Contains(names, stem+".pack") {
				continue
			}
			if err := s.addPack(path.Join(dir, stem)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *store) addPack(name string) error {
	if slices.ContainsFunc(s.packs, func(p *pack) bool { return p.name == name }) {
		return nil
	}
	if len(s.packs) == maxPacks {
		return fmt.Errorf("over %d packs; git gc makes one of them", maxPacks)
	}
	f, err := s.repo.root.open(name + ".idx")
	if absent(err) { // repacked since it was listed
		return nil
	}
	if err != nil {
		return err
	}
	x, err := newIndex(f)
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: %w", s.repo.root.abs(name+".idx"), err)
	}
	s.packs = append(s.packs, &pack{name: name, index: x})
	return nil
}

// get reads an object of a kind, at most limit bytes, and makes sure that it is what its hash names.
func (s *store) get(h plumbing.Hash, kind plumbing.ObjectType, limit int64) ([]byte, error) {
	o, ok, err := s.find(h, limit)
	if err == nil && !ok {
		// A repack may have moved it since the packs were listed.
		if err = s.listPacks(); err == nil {
			o, ok, err = s.find(h, limit)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", kind, h, err)
	case !ok:
		return nil, fmt.Errorf("%s %s: missing from the repository", kind, h)
	case o.kind != kind:
		return nil, fmt.Errorf("%s: a %s where a %s should be", h, o.kind, kind)
	case hashOf(o) != h:
		return nil, fmt.Errorf("%s %s: damaged: its content has another hash", kind, h)
	}
	return o.data, nil
}

func (s *store) find(h plumbing.Hash, limit int64) (object, bool, error) {
	for i := 0; i < len(s.packs); i++ {
		p := s.packs[i]
		offset, ok, err := p.offset(h)
		if err != nil {
			return object{}, false, fmt.Errorf("%s.idx: %w", s.repo.root.abs(p.name), err)
		}
		if !ok {
			continue
		}
		if ok, err = s.openPack(p); err != nil {
			return object{}, false, err
		}
		if !ok { // repacked since it was listed
			p.close()
			s.packs = slices.Delete(s.packs, i, i+1)
			i--
			continue
		}
		s.packs[0], s.packs[i] = p, s.packs[0]
		o, err := p.object(s, offset, limit)
		return o, err == nil, err
	}
	return s.loose(h, limit)
}

// openPack opens a pack's file; false if it is gone.
func (s *store) openPack(p *pack) (bool, error) {
	if p.scanner != nil {
		return true, nil
	}
	f, err := s.repo.root.open(p.name + ".pack")
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.file, p.scanner = f, packfile.NewScanner(f)
	return true, nil
}

// loose reads an object that has a file of its own.
func (s *store) loose(h plumbing.Hash, limit int64) (object, bool, error) {
	hex := h.String()
	for _, dir := range s.repo.stores {
		f, err := s.repo.root.open(path.Join(dir, hex[:2], hex[2:]))
		if absent(err) {
			continue
		}
		if err != nil {
			return object{}, false, err
		}
		o, err := s.inflateLoose(f, limit)
		_ = f.Close()
		return o, err == nil, err
	}
	return object{}, false, nil
}

// inflateLoose reads `TYPE SIZE NUL content`.
func (s *store) inflateLoose(f io.Reader, limit int64) (object, error) {
	var err error
	s.file.Reset(f)
	if s.zlib == nil {
		s.zlib, err = zlib.NewReader(&s.file)
	} else {
		err = s.zlib.(zlib.Resetter).Reset(&s.file, nil)
	}
	if err != nil {
		return object{}, damage(err)
	}
	var head []byte
	for one := make([]byte, 1); len(head) == 0 || head[len(head)-1] != 0; head = append(head, one[0]) {
		if _, err := io.ReadFull(s.zlib, one); err != nil {
			return object{}, damage(err)
		}
		if len(head) == 32 {
			return object{}, errors.New("damaged: no header")
		}
	}
	name, digits, _ := strings.Cut(string(head[:len(head)-1]), " ")
	kind, err := plumbing.ParseObjectType(name)
	if err != nil {
		return object{}, err
	}
	size, err := strconv.ParseUint(digits, 10, 62)
	if err != nil {
		return object{}, errors.New("damaged: no size in its header")
	}
	if size > uint64(limit) {
		return object{}, tooLarge(size, limit)
	}
	data, err := s.inflate(s.zlib, int64(size))
	return object{kind, data}, err
}

// inflate reads exactly size bytes, and believes in them only as they come.
func (s *store) inflate(r io.Reader, size int64) ([]byte, error) {
	if err := s.spend(size); err != nil {
		return nil, err
	}
	var data bytes.Buffer
	data.Grow(int(min(size, 64<<10)) + bytes.MinRead)
	n, err := data.ReadFrom(io.LimitReader(r, size+1))
	if err != nil {
		return nil, damage(err)
	}
	if n != size {
		return nil, fmt.Errorf("damaged: not the %d bytes that it claims", size)
	}
	return data.Bytes(), nil
}

// spend counts work, and ends an operation whose time is up or that costs too much.
func (s *store) spend(n int64) error {
	if s.work += n; s.work > maxWork {
		return fmt.Errorf("over %d bytes had to be unpacked for it", maxWork)
	}
	return s.ctx.Err()
}

// keep remembers an object that may be the base of the next. When there are too many, all go.
func (s *store) keep(at base, o object) {
	if len(o.data) > keepOne {
		return
	}
	size := len(o.data) + 100 // its place in the map
	if s.kept += size; s.kept > keepBases {
		clear(s.bases)
		s.kept = size
	}
	s.bases[at] = o
}

func hashOf(o object) (sum plumbing.Hash) {
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "%s %d\x00", o.kind, len(o.data))
	_, _ = h.Write(o.data)
	h.Sum(sum[:0])
	return sum
}

func tooLarge(size uint64, limit int64) error {
	return fmt.Errorf("%d bytes, over the limit of %d", size, limit)
}
