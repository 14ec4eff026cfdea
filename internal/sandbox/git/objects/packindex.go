package objects

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
)

// Layout of a pack index of version 2 (https://git-scm.com/docs/gitformat-pack): a header; the fan-out table, which has for each first
// byte the cumulative number of hashes; and columns of hashes, CRCs, 31-bit offsets and 64-bit offsets.
const (
	fanoutAt    = 8
	hashesAt    = fanoutAt + 256*4
	indexRow    = HashSize + 4 + 4
	indexTail   = 2 * HashSize
	largeOffset = 1 << 31 // bit that marks an index into the column of 64-bit offsets
	blockHashes = 200     // number of hashes up to which a binary search reads all remaining hashes at once
)

var indexHeader = []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}

// packIndex finds objects in a pack. It reads only the hashes that a search needs. go-git would read a large index completely for each
// operation.
type packIndex struct {
	file   *os.File
	size   int64
	fanout [256]uint32
	block  [blockHashes * HashSize]byte
}

// newPackIndex checks the header and the fan-out table of f. If it succeeds, the packIndex owns f.
func newPackIndex(f *os.File) (*packIndex, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var head [hashesAt]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, damage(err)
	}
	if !bytes.HasPrefix(head[:], indexHeader) {
		return nil, errors.New("not a pack index of version 2: run git repack -ad, which creates one")
	}
	x := &packIndex{file: f, size: info.Size()}
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(head[fanoutAt+4*i:])
		if i > 0 && x.fanout[i] < x.fanout[i-1] {
			return nil, errors.New("damaged: its fan-out table decreases")
		}
	}
	if x.size < hashesAt+int64(x.count())*int64(indexRow)+int64(indexTail) {
		return nil, fmt.Errorf("damaged: too short for %d objects", x.count())
	}
	return x, nil
}

func (x *packIndex) count() uint32 { return x.fanout[255] }

// position returns the position of h in the sorted column of hashes, or the position at which h would be inserted.
func (x *packIndex) position(h plumbing.Hash) (at uint32, found bool, err error) {
	low, high := uint32(0), x.fanout[h[0]]
	if h[0] > 0 {
		low = x.fanout[h[0]-1]
	}
	for high-low > blockHashes {
		middle := low + (high-low)/2
		hash, err := x.hash(middle)
		if err != nil {
			return 0, false, err
		}
		if bytes.Compare(hash[:], h[:]) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	block := x.block[:int(high-low)*HashSize]
	if _, err := x.file.ReadAt(block, hashesAt+int64(low)*int64(HashSize)); err != nil {
		return 0, false, damage(err)
	}
	for ; len(block) > 0; block = block[HashSize:] {
		switch bytes.Compare(block[:HashSize], h[:]) {
		case 0:
			return low, true, nil
		case 1:
			return low, false, nil
		}
		low++
	}
	return low, false, nil
}

func (x *packIndex) hash(i uint32) (h plumbing.Hash, err error) {
	_, err = x.file.ReadAt(h[:], hashesAt+int64(i)*int64(HashSize))
	return h, damage(err)
}

// offset returns the position of an object in the pack. It returns false if the pack does not contain the object.
func (x *packIndex) offset(h plumbing.Hash) (int64, bool, error) {
	at, found, err := x.position(h)
	if err != nil || !found {
		return 0, false, err
	}
	n := int64(x.count())
	var word [8]byte
	if _, err := x.file.ReadAt(word[:4], hashesAt+n*int64(HashSize+4)+4*int64(at)); err != nil {
		return 0, false, damage(err)
	}
	small := binary.BigEndian.Uint32(word[:])
	if small < largeOffset {
		return int64(small), true, nil
	}
	large := hashesAt + n*int64(indexRow) + 8*int64(small-largeOffset)
	if large+8 > x.size-int64(indexTail) {
		return 0, false, errors.New("damaged: an offset is not in the offset table")
	}
	if _, err := x.file.ReadAt(word[:], large); err != nil {
		return 0, false, damage(err)
	}
	offset := int64(binary.BigEndian.Uint64(word[:]))
	if offset < 0 {
		return 0, false, errors.New("damaged: an offset is negative")
	}
	return offset, true, nil
}

// damage replaces io.EOF and io.ErrUnexpectedEOF with an error that states that the file is truncated.
func damage(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("damaged: truncated")
	}
	return err
}
