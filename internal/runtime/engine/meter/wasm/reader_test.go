package wasm

import (
	"math"
	"testing"
)

func TestUnsignedLEB128(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		want uint32
		size int
	}{
		{"zero", []byte{0}, 0, 1},
		{"one byte", []byte{0x7f}, 127, 1},
		{"two bytes", []byte{0x80, 1}, 128, 2},
		{"overlong", []byte{0x81, 0x80, 0x80, 0x80, 0}, 1, 5},
		{"the largest", []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, math.MaxUint32, 5},
		{"a bit too many", []byte{0xff, 0xff, 0xff, 0xff, 0x1f}, 0, 0},
		{"a byte too many", []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, 0, 0},
		{"truncated", []byte{0x80}, 0, 0},
		{"nothing", nil, 0, 0},
	} {
		if got, size := u32(c.in); got != c.want || size != c.size {
			t.Errorf("%s: %d in %d bytes, want %d in %d", c.name, got, size, c.want, c.size)
		}
	}
}

func TestSignedLEB128(t *testing.T) {
	for _, c := range []struct {
		name string
		in   []byte
		bits int
		size int
	}{
		{"minus one", []byte{0x7f}, 32, 1},
		{"the largest of 32 bits", []byte{0xff, 0xff, 0xff, 0xff, 0x07}, 32, 5},
		{"the smallest of 32 bits", []byte{0x80, 0x80, 0x80, 0x80, 0x78}, 32, 5},
		{"one above the largest", []byte{0x80, 0x80, 0x80, 0x80, 0x08}, 32, 0},
		{"a wrong sign extension", []byte{0xff, 0xff, 0xff, 0xff, 0x4f}, 32, 0},
		{"the largest of 33 bits", []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 33, 5},
		{"the smallest of 64 bits", []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, 64, 10},
		{"more than 64 bits", []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02}, 64, 0},
		{"truncated", []byte{0xff, 0xff}, 32, 0},
	} {
		if size := signed(c.in, c.bits); size != c.size {
			t.Errorf("%s: %d bytes, want %d", c.name, size, c.size)
		}
	}
}

func TestLEB128RoundTrip(t *testing.T) {
	for _, v := range []int64{0, 1, -1, 63, 64, -64, -65, 1 << 20, math.MaxInt64, math.MinInt64} {
		if b := AppendS64(nil, v); signed(b, 64) != len(b) {
			t.Errorf("%d is written as %x", v, b)
		}
	}
	for _, v := range []uint32{0, 127, 128, 1 << 20, math.MaxUint32} {
		if got, size := u32(AppendU32(nil, v)); got != v || size == 0 {
			t.Errorf("%d is read as %d", v, got)
		}
	}
}

func TestCountChecksLengthBeforeAllocation(t *testing.T) {
	r := NewReader([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2}, 100)
	if n := r.Count("things", math.MaxInt); n != 0 || r.Err() == nil {
		t.Errorf("%d things in two bytes: %v", n, r.Err())
	}
	if want := "offset 0x64: 4294967295 things do not fit into the remaining 2 bytes"; r.Err().Error() != want {
		t.Errorf("error %q, want %q", r.Err(), want)
	}
}
