package gittest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
)

// Packed is an entry of a handmade pack: the encoded object, and the hash by which the index names it.
type Packed struct {
	Hash  plumbing.Hash
	Bytes []byte
}

// EntryBytes encodes a pack entry. size is the size that the header of the entry states, which may be wrong. base is the encoded reference
// of a delta to its base.
func EntryBytes(kind plumbing.ObjectType, size int, base, content []byte) []byte {
	first := byte(kind)<<4 | byte(size&15)
	size >>= 4
	var out bytes.Buffer
	for ; size > 0; size >>= 7 {
		out.WriteByte(first | 0x80)
		first = byte(size & 0x7f)
	}
	out.WriteByte(first)
	out.Write(base)
	z := zlib.NewWriter(&out)
	_, _ = z.Write(content)
	_ = z.Close()
	return out.Bytes()
}

// HandPack writes a pack and its index from entries, which may be malformed.
func (r *Repo) HandPack(entries ...Packed) {
	r.TB.Helper()
	offsets := map[plumbing.Hash]uint32{}
	body := bytes.NewBuffer([]byte("PACK\x00\x00\x00\x02"))
	_ = binary.Write(body, binary.BigEndian, uint32(len(entries)))
	for _, e := range entries {
		offsets[e.Hash] = uint32(body.Len())
		body.Write(e.Bytes)
	}
	body.Write(make([]byte, 20))
	stem := filepath.Join(r.Dot, "objects", "pack", "pack-"+strings.Repeat("a", 40))
	Write(r.TB, stem+".pack", body.String())
	Write(r.TB, stem+".idx", string(IndexBytes(offsets)))
}

// IndexBytes encodes the index of a pack. offsets has the offset of each object in the pack.
func IndexBytes(offsets map[plumbing.Hash]uint32) []byte {
	hashes := make([]plumbing.Hash, 0, len(offsets))
	for h := range offsets {
		hashes = append(hashes, h)
	}
	slices.SortFunc(hashes, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	out := bytes.NewBufferString("\xfftOc\x00\x00\x00\x02")
	for b := range 256 {
		n := sort.Search(len(hashes), func(i int) bool { return int(hashes[i][0]) > b })
		_ = binary.Write(out, binary.BigEndian, uint32(n))
	}
	for _, h := range hashes {
		out.Write(h[:])
	}
	out.Write(make([]byte, 4*len(hashes)))
	for _, h := range hashes {
		_ = binary.Write(out, binary.BigEndian, offsets[h])
	}
	out.Write(make([]byte, 40))
	return out.Bytes()
}
