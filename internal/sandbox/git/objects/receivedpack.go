package objects

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
)

// maxReceived is the maximum number of objects in a received pack.
const maxReceived = 500_000

// packHeader is the length of a pack's header, in bytes.
const packHeader = 12

// FromPack returns a store of the objects of a pack that a remote sent. Such a pack has no index, so every object is decoded once to compute
// its hash. The pack is untrusted, and all limits of a store apply.
func FromPack(ctx context.Context, data []byte) (*Store, error) {
	if len(data) < packHeader+HashSize || !bytes.HasPrefix(data, []byte("PACK\x00\x00\x00\x02")) {
		return nil, errors.New("the remote did not send a pack of version 2")
	}
	if sum := sha1.Sum(data[:len(data)-HashSize]); !bytes.Equal(sum[:], data[len(data)-HashSize:]) {
		return nil, errors.New("the received pack is damaged: its checksum is wrong")
	}
	count := binary.BigEndian.Uint32(data[8:])
	if count > maxReceived {
		return nil, fmt.Errorf("the remote sent more than %d objects", maxReceived)
	}
	body := bytes.NewReader(data[:len(data)-HashSize])
	p := &pack{name: "received pack", objects: map[plumbing.Hash]int64{}, scanner: packfile.NewScanner(body)}
	s := &Store{ctx: ctx, repo: &repo.Repository{}, packs: []*pack{p}, bases: map[packOffset]object{}}
	x := indexer{s, p, map[plumbing.Hash][]int64{}, map[int64][]int64{}, map[int64]bool{}}
	if err := x.scan(int(count)); err != nil {
		return nil, fmt.Errorf("the received pack: %w", err)
	}
	return s, nil
}

// indexer computes the hash of each object of a pack. If a delta precedes its base, the hash of the delta is computed when the base is
// read.
type indexer struct {
	store    *Store
	pack     *pack
	byHash   map[plumbing.Hash][]int64 // deltas that wait for their base, keyed by the hash of the base
	byOffset map[int64][]int64         // deltas that wait for their base, keyed by the offset of the base
	waiting  map[int64]bool            // offsets of the deltas that wait for their base
}

// scan reads the pack sequentially, since entries do not state their compressed length.
func (x *indexer) scan(count int) error {
	for i, at := 0, int64(packHeader); i < count; i++ {
		header, err := x.pack.scanner.SeekObjectHeader(at)
		if err != nil {
			return damage(err)
		}
		h := *header
		if _, err := x.pack.inflate(x.store, header, maxObject); err != nil {
			return err
		}
		next, err := x.pack.scanner.SeekFromStart(at)
		if err != nil {
			return damage(err)
		}
		wait := false
		switch h.Type {
		case plumbing.REFDeltaObject:
			if _, wait = x.pack.objects[h.Reference]; !wait {
				x.byHash[h.Reference] = append(x.byHash[h.Reference], at)
			}
			wait = !wait
		case plumbing.OFSDeltaObject:
			if wait = x.waiting[h.OffsetReference]; wait {
				x.byOffset[h.OffsetReference] = append(x.byOffset[h.OffsetReference], at)
			}
		}
		if wait {
			x.waiting[at] = true
		} else if err := x.add(at); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// add computes the hash of the object at an offset, and then the hashes of the deltas that waited for this object.
func (x *indexer) add(at int64) error {
	for ready := []int64{at}; len(ready) > 0; {
		at, ready = ready[len(ready)-1], ready[:len(ready)-1]
		o, err := x.pack.object(x.store, at, maxObject)
		if err != nil {
			return err
		}
		hash := HashOf(o.kind, o.data)
		x.pack.objects[hash] = at
		ready = append(append(ready, x.byHash[hash]...), x.byOffset[at]...)
		delete(x.byHash, hash)
		delete(x.byOffset, at)
		delete(x.waiting, at)
	}
	return nil
}
