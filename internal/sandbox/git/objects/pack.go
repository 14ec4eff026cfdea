package objects

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// maxChain is the maximum length of a chain of deltas. git writes chains of at most 4,095.
const maxChain = 4096

// pack is a pack together with its index. The file of the pack is opened when its first object is read. A pack that a remote sent is in
// memory. It has a map of its objects instead of an index.
type pack struct {
	root    *repo.Root // nil for a pack that a remote sent
	name    string     // name of the pack's files in the root, without the extension
	index   *packIndex
	objects map[plumbing.Hash]int64
	file    *os.File
	scanner *packfile.Scanner
}

// offset returns the position of an object in the pack. It returns false if the pack does not contain the object.
func (p *pack) offset(h plumbing.Hash) (int64, bool, error) {
	if p.index != nil {
		return p.index.offset(h)
	}
	at, ok := p.objects[h]
	return at, ok, nil
}

func (p *pack) close() {
	if p.index != nil {
		_ = p.index.file.Close()
	}
	if p.file != nil {
		_ = p.file.Close()
	}
}

// object reads the object at an offset. It follows a chain of deltas iteratively, so that neither a long chain nor a cycle exhausts the
// stack: first it reads the headers down to the base, and then it applies the deltas from the base up.
func (p *pack) object(s *Store, offset, limit int64) (object, error) {
	var deltas []int64
	for {
		if o, ok := s.bases[packOffset{p, offset}]; ok {
			return p.apply(s, o, deltas, limit)
		}
		header, err := p.scanner.SeekObjectHeader(offset)
		if err != nil {
			return object{}, damage(err)
		}
		switch header.Type {
		case plumbing.OFSDeltaObject, plumbing.REFDeltaObject:
			if len(deltas) == maxChain {
				return object{}, fmt.Errorf("damaged: the deltas form a cycle, or a chain of more than %d", maxChain)
			}
			deltas = append(deltas, offset)
			if offset, err = p.base(header); err != nil {
				return object{}, err
			}
			if err := s.spend(0); err != nil {
				return object{}, err
			}
		case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
			most := int64(maxObject)
			if len(deltas) == 0 {
				most = limit
			}
			data, err := p.inflate(s, header, most)
			if err != nil {
				return object{}, err
			}
			o := object{header.Type, data}
			s.cache(packOffset{p, offset}, o)
			return p.apply(s, o, deltas, limit)
		default:
			return object{}, fmt.Errorf("damaged: an object has the unknown type %d", header.Type)
		}
	}
}

// base returns the offset of the object to which a delta is applied.
func (p *pack) base(delta *packfile.ObjectHeader) (int64, error) {
	if delta.Type == plumbing.OFSDeltaObject {
		return delta.OffsetReference, nil
	}
	offset, ok, err := p.offset(delta.Reference)
	if err == nil && !ok {
		err = fmt.Errorf("damaged: the base %s of a delta is not in the pack", delta.Reference)
	}
	return offset, err
}

// apply applies deltas to their base o, beginning with the last of deltas. The size of the final result is at most limit; that of an
// intermediate result is at most maxObject.
func (p *pack) apply(s *Store, o object, deltas []int64, limit int64) (object, error) {
	if size := int64(len(o.data)); len(deltas) == 0 && size > limit { // o is from the cache, so its size has not been checked
		return object{}, tooLarge(uint64(size), limit)
	}
	for i := len(deltas) - 1; i >= 0; i-- {
		header, err := p.scanner.SeekObjectHeader(deltas[i])
		if err != nil {
			return object{}, damage(err)
		}
		delta, err := p.inflate(s, header, maxObject)
		if err != nil {
			return object{}, err
		}
		most := int64(maxObject)
		if i == 0 {
			most = limit
		}
		size, err := resultSize(delta)
		if err != nil {
			return object{}, err
		}
		if size > uint64(most) {
			return object{}, tooLarge(size, most)
		}
		if err := s.spend(int64(size)); err != nil {
			return object{}, err
		}
		if o.data, err = packfile.PatchDelta(o.data, delta); err != nil {
			return object{}, err
		}
		s.cache(packOffset{p, deltas[i]}, o)
	}
	return o, nil
}

// resultSize returns the size of the object that a delta produces.
func resultSize(delta []byte) (uint64, error) {
	_, n := binary.Uvarint(delta)
	if n <= 0 {
		return 0, errors.New("damaged: a delta lacks its sizes")
	}
	size, n := binary.Uvarint(delta[n:])
	if n <= 0 {
		return 0, errors.New("damaged: a delta lacks its sizes")
	}
	return size, nil
}

// inflate reads the content that follows the header, which the scanner has just read.
func (p *pack) inflate(s *Store, header *packfile.ObjectHeader, limit int64) ([]byte, error) {
	if header.Length > limit {
		return nil, tooLarge(uint64(header.Length), limit)
	}
	r, err := p.scanner.ReadObject()
	if err != nil {
		return nil, damage(err)
	}
	defer r.Close()
	return s.inflate(r, header.Length)
}
