package objects

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// Limits of one operation. They protect the host from hostile repositories.
const (
	maxObject      = 64 << 20 // most bytes of an object that is read to decode another object
	maxMeta        = 16 << 20 // most bytes of a commit or a tree
	maxWork        = 1 << 30  // most bytes that are inflated and patched in total
	maxPacks       = 512      // most packs that are open at the same time
	maxCache       = 16 << 20 // most bytes of cached delta bases
	maxCacheObject = 1 << 20  // most bytes of one cached object
)

// packOffset is the location of an object in a pack.
type packOffset struct {
	pack   *pack
	offset int64
}

// Store reads objects for one operation. It is not safe for concurrent use. The caller must close it.
type Store struct {
	ctx       context.Context
	repo      *repo.Repository
	packs     []*pack // open packs, the most recently used one first
	bases     map[packOffset]object
	cacheSize int
	work      int64
	zlib      io.ReadCloser // zlib reader, which is reused for each loose object, as is its input
	file      bufio.Reader
}

// Open opens the pack indexes of a repository. After ctx has ended, every method of the Store fails.
func Open(ctx context.Context, r *repo.Repository) (*Store, error) {
	s := &Store{ctx: ctx, repo: r, bases: map[packOffset]object{}}
	if err := s.listPacks(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close closes the files of the packs.
func (s *Store) Close() {
	for _, p := range s.packs {
		p.close()
	}
	s.packs = nil
}

// listPacks opens the indexes of packs that are not yet open.
func (s *Store) listPacks() error {
	for _, dir := range s.repo.ObjectDirs {
		dir.Name = path.Join(dir.Name, "pack")
		names, err := dir.Root.List(dir.Name)
		if err != nil {
			return err
		}
		for _, name := range names {
			stem, ok := strings.CutSuffix(name, ".idx")
			if !ok || !slices.Contains(names, stem+".pack") {
				continue
			}
			if err := s.addPack(dir.Root, path.Join(dir.Name, stem)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Store) addPack(root *repo.Root, name string) error {
	if slices.ContainsFunc(s.packs, func(p *pack) bool { return p.root == root && p.name == name }) {
		return nil
	}
	if len(s.packs) == maxPacks {
		return fmt.Errorf("the repository has more than %d packs: run git gc, which combines them", maxPacks)
	}
	f, err := root.Open(name + ".idx")
	if repo.IsAbsent(err) { // a repack has removed this pack since the directory was listed
		return nil
	}
	if err != nil {
		return err
	}
	x, err := newPackIndex(f)
	if err != nil {
		_ = f.Close()
		return fmt.Errorf("%s: %w", root.Abs(name+".idx"), err)
	}
	s.packs = append(s.packs, &pack{root: root, name: name, index: x})
	return nil
}

// Get returns the content of an object, which may have at most limit bytes. It verifies the type and the hash of the object. Callers must
// not change the content.
func (s *Store) Get(h plumbing.Hash, kind plumbing.ObjectType, limit int64) ([]byte, error) {
	o, ok, err := s.findAgain(h, limit)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w", kind, h, err)
	case !ok:
		return nil, fmt.Errorf("%s %s: missing from the repository", kind, h)
	case o.kind != kind:
		return nil, fmt.Errorf("%s: is a %s, not a %s", h, o.kind, kind)
	case HashOf(o.kind, o.data) != h:
		return nil, fmt.Errorf("%s %s: damaged: its content does not match its hash", kind, h)
	}
	return o.data, nil
}

// Any is Get for an object of any type, which it returns too. The type is empty if there is no such object.
func (s *Store) Any(h plumbing.Hash, limit int64) (kind string, content []byte, err error) {
	o, ok, err := s.findAgain(h, limit)
	switch {
	case err != nil:
		return "", nil, fmt.Errorf("%s: %w", h, err)
	case !ok:
		return "", nil, nil
	case HashOf(o.kind, o.data) != h:
		return "", nil, fmt.Errorf("%s %s: damaged: its content does not match its hash", o.kind, h)
	}
	return o.kind.String(), o.data, nil
}

// findAgain is find, and lists the packs again if the object is absent: a concurrent repack may have moved it to a pack that was not listed.
func (s *Store) findAgain(h plumbing.Hash, limit int64) (object, bool, error) {
	o, ok, err := s.find(h, limit)
	if err == nil && !ok {
		if err = s.listPacks(); err == nil {
			o, ok, err = s.find(h, limit)
		}
	}
	return o, ok, err
}

// Has reports whether an object exists. It does not read the object.
func (s *Store) Has(hash plumbing.Hash) (bool, error) {
	for _, p := range s.packs {
		if _, ok, err := p.offset(hash); ok || err != nil {
			return ok, err
		}
	}
	for _, dir := range s.repo.ObjectDirs {
		_, err := dir.Root.Stat(looseName(dir.Name, hash))
		if err == nil || !repo.IsAbsent(err) {
			return err == nil, err
		}
	}
	return false, nil
}

func (s *Store) find(h plumbing.Hash, limit int64) (object, bool, error) {
	for i := 0; i < len(s.packs); i++ {
		p := s.packs[i]
		offset, ok, err := p.offset(h)
		if err != nil {
			return object{}, false, fmt.Errorf("%s.idx: %w", p.root.Abs(p.name), err)
		}
		if !ok {
			continue
		}
		if ok, err = s.openPack(p); err != nil {
			return object{}, false, err
		}
		if !ok { // a repack has removed this pack since the directory was listed
			p.close()
			s.packs = slices.Delete(s.packs, i, i+1)
			i--
			continue
		}
		s.packs[0], s.packs[i] = p, s.packs[0]
		o, err := p.object(s, offset, limit)
		return o, err == nil, err
	}
	return s.findLoose(h, limit)
}

// openPack opens the file of a pack. It returns false if that file no longer exists.
func (s *Store) openPack(p *pack) (bool, error) {
	if p.scanner != nil {
		return true, nil
	}
	f, err := p.root.Open(p.name + ".pack")
	if repo.IsAbsent(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	p.file, p.scanner = f, packfile.NewScanner(f)
	return true, nil
}

// inflate reads exactly size bytes from r. The size is untrusted, so memory is allocated only as data arrives.
func (s *Store) inflate(r io.Reader, size int64) ([]byte, error) {
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
		return nil, fmt.Errorf("damaged: the content does not have the stated %d bytes", size)
	}
	return data.Bytes(), nil
}

// spend adds n to the work of the operation. It fails if the work exceeds maxWork or the context has ended.
func (s *Store) spend(n int64) error {
	if s.work += n; s.work > maxWork {
		return fmt.Errorf("the operation would decompress more than %d bytes", maxWork)
	}
	return s.ctx.Err()
}

// cache stores an object that may be the base of the next delta. If the cache is full, it is cleared before.
func (s *Store) cache(at packOffset, o object) {
	if len(o.data) > maxCacheObject {
		return
	}
	size := len(o.data) + 100 // counts the overhead of a map entry too
	if s.cacheSize += size; s.cacheSize > maxCache {
		clear(s.bases)
		s.cacheSize = size
	}
	s.bases[at] = o
}

func tooLarge(size uint64, limit int64) error {
	return fmt.Errorf("the object has %d bytes, more than the limit of %d", size, limit)
}
