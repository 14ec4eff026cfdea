package git

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// maxSent is how many objects a remote may send.
const maxSent = 500_000

// receivedStore makes a store of a pack that a remote sent, which has no index: every object is read
// once, for its hash.
func receivedStore(ctx context.Context, data []byte) (*store, error) {
	const header = 12
	if len(data) < header+hashSize || !bytes.HasPrefix(data, []byte("PACK\x00\x00\x00\x02")) {
		return nil, errors.New("what the remote sent is no pack of version 2")
	}
	if sum := sha1.Sum(data[:len(data)-hashSize]); !bytes.Equal(sum[:], data[len(data)-hashSize:]) {
		return nil, errors.New("the pack that the remote sent is damaged: its checksum is wrong")
	}
	count := binary.BigEndian.Uint32(data[8:])
	if count > maxSent {
		return nil, fmt.Errorf("the remote sent over %d objects", maxSent)
	}
	body := bytes.NewReader(data[:len(data)-hashSize])
	p := &pack{name: "what the remote sent", objects: map[plumbing.Hash]int64{}, scanner: packfile.NewScanner(body)}
	s := &store{ctx: ctx, repo: &repository{}, packs: []*pack{p}, bases: map[base]object{}}
	x := indexer{store: s, pack: p, waiting: map[plumbing.Hash][]int64{}}
	if err := x.scan(int(count)); err != nil {
		return nil, fmt.Errorf("the pack that the remote sent: %w", err)
	}
	return s, nil
}

// indexer finds the hash of each object of a pack.
type indexer struct {
	store   *store
	pack    *pack
	waiting map[plumbing.Hash][]int64 // deltas, by the base that was not yet seen
	offsets map[int64][]int64         // deltas, by the offset of a base whose hash is not yet known
}

// scan goes through the pack from its beginning.
func (x *indexer) scan(count int) error {
	const first = 12
	x.offsets = map[int64][]int64{}
	unknown := map[int64]bool{} // offsets of deltas that wait
	for i, at := 0, int64(first); i < count; i++ {
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
				x.waiting[h.Reference] = append(x.waiting[h.Reference], at)
			}
			wait = !wait
		case plumbing.OFSDeltaObject:
			if wait = unknown[h.OffsetReference]; wait {
				x.offsets[h.OffsetReference] = append(x.offsets[h.OffsetReference], at)
			}
		}
		if wait {
			unknown[at] = true
		} else if err := x.name(at); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// name reads an object for its hash, and those deltas that waited for it.
func (x *indexer) name(at int64) error {
	for ready := []int64{at}; len(ready) > 0; {
		at, ready = ready[len(ready)-1], ready[:len(ready)-1]
		o, err := x.pack.object(x.store, at, maxObject)
		if err != nil {
			return err
		}
		hash := hashOf(o)
		x.pack.objects[hash] = at
		ready = append(append(ready, x.waiting[hash]...), x.offsets[at]...)
		delete(x.waiting, hash)
		delete(x.offsets, at)
	}
	return nil
}
