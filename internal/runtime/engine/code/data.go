package code

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// A data segment that is written to the memory at a constant address when the module is instantiated.
type segment struct {
	address uint64
	content []byte
}

// maxGap is the most zeros that are written between two segments to make one of them. wazero keeps some hundred bytes for each segment.
const maxGap = 96

// mergeSegments returns the content of a data section in which neighbouring segments are one, with the zeros between them. The Go linker
// writes ten segments for each kilobyte, to save zeros; a worker would decode and keep all of them. The memory of a new instance is the same, if
// the module defines it and no instruction refers to segments, which the caller checks. A section is returned as it is unless each of its segments
// is for the first memory, at a constant address, and no two overlap: then their order makes no difference.
func mergeSegments(section []byte) []byte {
	segments, ok := readSegments(section)
	if !ok {
		return section
	}
	var merged []segment
	for _, s := range segments {
		if len(merged) == 0 || s.address-merged[len(merged)-1].end() > maxGap {
			merged = append(merged, segment{s.address, append([]byte(nil), s.content...)})
			continue
		}
		last := &merged[len(merged)-1]
		last.content = append(append(last.content, make([]byte, s.address-last.end())...), s.content...)
	}
	out := binary.AppendUvarint(make([]byte, 0, len(section)), uint64(len(merged)))
	for _, s := range merged {
		out = append(appendSigned(append(out, 0, i32Const), s.address), endOfExpression)
		out = append(binary.AppendUvarint(out, uint64(len(s.content))), s.content...)
	}
	return out
}

func (s segment) end() uint64 { return s.address + uint64(len(s.content)) }

// Instructions of a constant address.
const (
	i32Const        = 0x41
	endOfExpression = 0x0b
)

// readSegments returns the segments of a data section by ascending address, and whether mergeSegments may merge them.
func readSegments(section []byte) ([]segment, bool) {
	count, n := binary.Uvarint(section)
	if n <= 0 || count > uint64(len(section)) {
		return nil, false
	}
	segments, rest := make([]segment, 0, count), section[n:]
	for range count {
		if len(rest) < 2 || rest[0] != 0 || rest[1] != i32Const {
			return nil, false
		}
		address, n := unsigned(rest[2:])
		rest = rest[2+n:]
		if n == 0 || len(rest) == 0 || rest[0] != endOfExpression {
			return nil, false
		}
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, false
		}
		segments, rest = append(segments, segment{address, rest[1+n : 1+n+int(size)]}), rest[1+n+int(size):]
	}
	slices.SortFunc(segments, func(a, b segment) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(a.end(), b.end()))
	})
	for i := range segments[min(1, len(segments)):] {
		if segments[i+1].address < segments[i].end() {
			return nil, false
		}
	}
	return segments, len(rest) == 0
}

// unsigned decodes a signed LEB128 number that is an address below 2 GiB, and returns the number of its bytes, or 0 if it is none.
func unsigned(data []byte) (value uint64, n int) {
	value, n = binary.Uvarint(data)
	if n <= 0 || data[n-1]&0x40 != 0 || value > math.MaxInt32 {
		return 0, 0
	}
	return value, n
}

// appendSigned appends an address below 2 GiB as signed LEB128 number: its last byte must not have the sign bit, 0x40.
func appendSigned(out []byte, address uint64) []byte {
	out = binary.AppendUvarint(out, address)
	if last := len(out) - 1; out[last]&0x40 != 0 {
		out[last] |= 0x80
		out = append(out, 0)
	}
	return out
}
