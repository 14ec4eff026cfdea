package code

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// section returns a data section of segments, whose addresses are given.
func section(segments ...segment) []byte {
	out := binary.AppendUvarint(nil, uint64(len(segments)))
	for _, s := range segments {
		out = append(appendSigned(append(out, 0, i32Const), s.address), endOfExpression)
		out = append(binary.AppendUvarint(out, uint64(len(s.content))), s.content...)
	}
	return out
}

// written returns the memory that segments are written to.
func written(t *testing.T, data []byte) []byte {
	t.Helper()
	segments, ok := readSegments(data)
	if !ok {
		t.Fatalf("section %x cannot be read", data)
	}
	var memory []byte
	for _, s := range segments {
		memory = slices.Grow(memory, int(s.end()))[:max(len(memory), int(s.end()))]
		copy(memory[s.address:], s.content)
	}
	return memory
}

func text(address uint64, content string) segment { return segment{address, []byte(content)} }

func TestMergedSegmentsWriteSameMemory(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var segments []segment
		address := uint64(random.IntN(1 << 20))
		for range random.IntN(40) {
			content := make([]byte, random.IntN(300))
			for i := range content {
				content[i] = byte(random.IntN(256))
			}
			segments = append(segments, segment{address, content})
			address += uint64(len(content) + random.IntN(2*maxGap))
		}
		data := section(segments...)
		merged := mergeSegments(data)
		if !bytes.Equal(written(t, merged), written(t, data)) {
			t.Fatalf("section %x became %x, which writes something else", data, merged)
		}
		after, _ := readSegments(merged)
		for i := 1; i < len(after); i++ {
			if after[i].address-after[i-1].end() <= maxGap {
				t.Fatalf("segments %d and %d are not merged", i-1, i)
			}
		}
	}
}

func TestSegmentsThatAreMerged(t *testing.T) {
	for name, test := range map[string]struct {
		data []byte
		want []byte
	}{
		"neighbours":       {section(text(8, "a"), text(9, "b")), section(text(8, "ab"))},
		"a gap":            {section(text(8, "a"), text(10, "b")), section(text(8, "a\x00b"))},
		"the largest gap":  {section(text(0, "a"), text(1+maxGap, "b")), section(text(0, "a"+strings.Repeat("\x00", maxGap)+"b"))},
		"a larger gap":     {section(text(0, "a"), text(2+maxGap, "b")), section(text(0, "a"), text(2+maxGap, "b"))},
		"addresses":        {section(text(63, "a"), text(64+1000, "b"), text(1<<31-1, "c")), section(text(63, "a"), text(64+1000, "b"), text(1<<31-1, "c"))},
		"an empty segment": {section(text(8, ""), text(20, "")), section(text(8, strings.Repeat("\x00", 12)))},
		"descending":       {section(text(10, "b"), text(8, "a")), section(text(8, "a\x00b"))},
		"at one address":   {section(text(8, "a"), text(8, "")), section(text(8, "a"))},
		"none":             {section(), section()},
	} {
		if got := mergeSegments(test.data); !bytes.Equal(got, test.want) {
			t.Errorf("%s: %x became %x, want %x", name, test.data, got, test.want)
		}
	}
}

// A section that writes an address twice, or to addresses that are not known, must stay what it is: later segments overwrite earlier ones.
func TestSegmentsThatAreNotMerged(t *testing.T) {
	for name, data := range map[string][]byte{
		"overlapping":               section(text(8, "abc"), text(10, "d")),
		"overlapping, descending":   section(text(10, "d"), text(8, "abc")),
		"passive":                   {2, 1, 1, 'a', 1, 1, 'b'},
		"of a global's address":     {2, 0, 0x23, 0, endOfExpression, 1, 'a', 0, i32Const, 4, endOfExpression, 1, 'b'},
		"of a negative address":     {1, 0, i32Const, 0x7f, endOfExpression, 1, 'a'},
		"of a sum":                  {1, 0, i32Const, 4, i32Const, 4, 0x6a, endOfExpression, 1, 'a'},
		"with a memory's index":     {1, 2, 0, i32Const, 4, endOfExpression, 1, 'a'},
		"longer than the section":   {1, 0, i32Const, 4, endOfExpression, 9, 'a'},
		"fewer than announced":      {2, 0, i32Const, 4, endOfExpression, 1, 'a'},
		"more than announced":       {1, 0, i32Const, 4, endOfExpression, 1, 'a', 0},
		"with an endless number":    append([]byte{1, 0, i32Const}, bytes.Repeat([]byte{0x80}, 11)...),
		"more than the section has": {200},
		"no section":                {},
	} {
		if got := mergeSegments(data); !bytes.Equal(got, data) {
			t.Errorf("%s: %x became %x", name, data, got)
		}
	}
}

func FuzzMergeSegments(f *testing.F) {
	f.Add(section(text(8, "a"), text(10, "b")))
	f.Add([]byte{1, 0, i32Const, 0x7f, endOfExpression, 1, 'a'})
	f.Fuzz(func(t *testing.T, data []byte) {
		merged := mergeSegments(data)
		before, ok := readSegments(data)
		if !ok {
			if !bytes.Equal(merged, data) {
				t.Fatalf("%x became %x", data, merged)
			}
			return
		}
		after, ok := readSegments(merged)
		if !ok || len(after) > len(before) {
			t.Fatalf("%x became %x", data, merged)
		}
		for _, s := range before { // each byte is where it was
			found := slices.ContainsFunc(after, func(m segment) bool {
				return m.address <= s.address && s.end() <= m.end() && bytes.Equal(m.content[s.address-m.address:s.end()-m.address], s.content)
			})
			if !found {
				t.Fatalf("%x became %x, which lacks the segment at %d", data, merged, s.address)
			}
		}
	})
}

// Only a module that has its own memory, which is zero at first, and whose instructions cannot refer to segments gets merged segments.
func TestSkeletonMergesSegmentsOfOwnMemory(t *testing.T) {
	header := []byte("\x00asm\x01\x00\x00\x00")
	imported := []byte{2, 8, 1, 1, 'e', 1, 'm', 2, 0, 1} // a memory that is imported
	own, none, count := []byte{memorySection, 3, 1, 0, 1}, []byte{memorySection, 1, 0}, []byte{dataCountSection, 1, 2}
	data := section(text(8, "a"), text(9, "b"))
	content := append([]byte{dataSection, byte(len(data))}, data...)
	merged := mergeSegments(data)
	for name, test := range map[string]struct {
		sections [][]byte
		merges   bool
	}{
		"own memory":      {[][]byte{own}, true},
		"imported memory": {[][]byte{imported}, false},
		"imported memory, and no memories of its own": {[][]byte{imported, none}, false},
		"own memory, and a number of data segments":   {[][]byte{own, count}, false},
	} {
		module := slices.Concat(header, slices.Concat(test.sections...), content)
		want := module
		if test.merges {
			want = slices.Concat(header, own, []byte{dataSection, byte(len(merged))}, merged)
		}
		if got, err := skeleton(module); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", name, got, err, want)
		}
	}
}
