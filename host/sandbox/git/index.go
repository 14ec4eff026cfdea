package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-git/go-git/v5/plumbing"
)

// Layout of a pack's index, version 2 (https://git-scm.com/docs/gitformat-pack): a header, a table of
// how many names begin with each byte or a smaller one, then columns: names, checksums, offsets, and
// the offsets that need 64 bits.
const (
	hashSize    = len(plumbing.ZeroHash)
	fanoutAt    = 8
	namesAt     = fanoutAt + 256*4
	indexRow    = hashSize + 4 + 4
	indexTail   = 2 * hashSize
	largeOffset = 1 << 31 // the offset is in the 64-bit column
	blockNames  = 200     // few enough names to read at once
)

var indexHeader = []byte{0xff, 't', 'O', 'c', 0, 0, 0, 2}

// index finds objects in one pack. It reads the few names that it needs: a large index, as go-git has
// it, would be read whole for each operation.
type index struct {
	file   *os.File
	size   int64
	fanout [256]uint32
	block  [blockNames * hashSize]byte
}

// newIndex checks the header and the table; it takes over the file if it succeeds.
func newIndex(f *os.File) (*index, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	var head [namesAt]byte
	if _, err := f.ReadAt(head[:], 0); err != nil {
		return nil, damage(err)
	}
	if !bytes.HasPrefix(head[:], indexHeader) {
		return nil, errors.New("not a pack index of version 2; git repack -ad makes one")
	}
	x := &index{file: f, size: info.Size()}
	for i := range x.fanout {
		x.fanout[i] = binary.BigEndian.Uint32(head[fanoutAt+4*i:])
		if i > 0 && x.fanout[i] < x.fanout[i-1] {
			return nil, errors.New("damaged: its table of counts decreases")
		}
	}
	if x.size < namesAt+int64(x.count())*int64(indexRow)+int64(indexTail) {
		return nil, fmt.Errorf("damaged: too short for %d objects", x.count())
	}
	return x, nil
}

func (x *index) count() uint32 { return x.fanout[255] }

// position gives where a hash stands among the names, or would stand if it is not there.
func (x *index) position(h plumbing.Hash) (at uint32, found bool, err error) {
	low, high := uint32(0), x.fanout[h[0]]
	if h[0] > 0 {
		low = x.fanout[h[0]-1]
	}
	for high-low > blockNames {
		middle := low + (high-low)/2
		name, err := x.name(middle)
		if err != nil {
			return 0, false, err
		}
		if bytes.Compare(name[:], h[:]) > 0 {
			high = middle
		} else {
			low = middle
		}
	}
	block := x.block[:int(high-low)*hashSize]
	if _, err := x.file.ReadAt(block, namesAt+int64(low)*int64(hashSize)); err != nil {
		return 0, false, damage(err)
	}
	for ; len(block) > 0; block = block[hashSize:] {
		switch bytes.Compare(block[:hashSize], h[:]) {
		case 0:
			return low, true, nil
		case 1:
			return low, false, nil
		}
		low++
	}
	return low, false, nil
}

func (x *index) name(i uint32) (h plumbing.Hash, err error) {
	_, err = x.file.ReadAt(h[:], namesAt+int64(i)*int64(hashSize))
	return h, damage(err)
}

// offset gives where an object begins in the pack; false if it is not in it.
func (x *index) offset(h plumbing.Hash) (int64, bool, error) {
	at, found, err := x.position(h)
	if err != nil || !found {
		return 0, false, err
	}
	n := int64(x.count())
	var word [8]byte
	if _, err := x.file.ReadAt(word[:4], namesAt+n*int64(hashSize+4)+4*int64(at)); err != nil {
		return 0, false, damage(err)
	}
	small := binary.BigEndian.Uint32(word[:])
	if small < largeOffset {
		return int64(small), true, nil
	}
	large := namesAt + n*int64(indexRow) + 8*int64(small-largeOffset)
	if large+8 > x.size-int64(indexTail) {
		return 0, false, errors.New("damaged: an offset outside of its table")
	}
	if _, err := x.file.ReadAt(word[:], large); err != nil {
		return 0, false, damage(err)
	}
	offset := int64(binary.BigEndian.Uint64(word[:]))
	if offset < 0 {
		return 0, false, errors.New("damaged: a negative offset")
	}
	return offset, true, nil
}

// damage names the end of a file where there should be more of it.
func damage(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("damaged: ends too early")
	}
	return err
}
