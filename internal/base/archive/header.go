package archive

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

const (
	block = 512       // bytes of a header; contents are padded to multiples of it
	end   = 2 * block // zero bytes at the end
)

func padded(size int) int { return (size + block - 1) / block * block }

// The fields of a ustar header, by offset and end.
const (
	modeAt, uidAt, gidAt, sizeAt, timeAt, checksumAt, typeAt = 100, 108, 116, 124, 136, 148, 156
	targetAt, magicAt, userAt, groupAt, majorAt, minorAt     = 157, 257, 265, 297, 329, 337
	prefixAt, unusedAt                                       = 345, 500
)

// header returns the header of a file. It is written here and not by archive/tar, whose bytes may differ between versions of Go.
func header(name string, size int) [block]byte {
	var h [block]byte
	copy(h[:], name)
	copy(h[modeAt:], "0000644\x00")
	copy(h[uidAt:], "0000000\x00")
	copy(h[gidAt:], "0000000\x00")
	copy(h[sizeAt:], fmt.Sprintf("%011o\x00", size))
	copy(h[timeAt:], "00000000000\x00")
	h[typeAt] = '0'
	copy(h[magicAt:], "ustar\x0000")
	copy(h[majorAt:], "0000000\x00")
	copy(h[minorAt:], "0000000\x00")
	copy(h[checksumAt:], "        ") // the checksum is that of a header with spaces in its place
	sum := 0
	for _, b := range h {
		sum += int(b)
	}
	copy(h[checksumAt:], fmt.Sprintf("%06o\x00 ", sum))
	return h
}

// parseHeader returns the name and size of a file. It accepts only what header returns.
func parseHeader(h [block]byte) (name string, size int, err error) {
	if what := entryTypes[h[typeAt]]; what != "" {
		return "", 0, fmt.Errorf("the entry is %s; only regular files are accepted", what)
	}
	raw := h[:modeAt]
	if n := bytes.IndexByte(raw, 0); n >= 0 {
		raw = raw[:n]
	}
	name = string(raw)
	if err := CheckName(name); err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(string(h[sizeAt:timeAt-1]), 8, 63)
	if err != nil {
		return "", 0, fmt.Errorf("the size of %s is not an octal number", name)
	}
	if n > MaxFile {
		return "", 0, fmt.Errorf("%s has %d bytes; a file of an archive has at most %d", name, n, MaxFile)
	}
	if want := header(name, int(n)); h != want {
		return "", 0, fmt.Errorf("%s %w", name, difference(h, want))
	}
	return name, int(n), nil
}

// entryTypes are the types of entries other than regular files, for error messages. Other values fail the comparison with header.
var entryTypes = map[byte]string{
	'1': "a hard link", '2': "a symbolic link", '3': "a character device", '4': "a block device", '5': "a directory", '6': "a named pipe",
	'7': "a contiguous file", 'g': "a PAX header", 'x': "a PAX header", 'K': "a long link target of GNU tar", 'L': "a long name of GNU tar",
	'S': "a sparse file",
}

// difference returns what distinguishes a header from the canonical one.
func difference(h, want [block]byte) error {
	for _, field := range []struct {
		from, to int
		what     string
	}{
		{typeAt, targetAt, "is not a regular file"}, {magicAt, userAt, "is not an entry of a ustar archive"},
		{0, modeAt, "has bytes after its name"}, {modeAt, uidAt, "does not have the mode 0644"}, {uidAt, sizeAt, "does not have the owner and group 0"},
		{sizeAt, timeAt, "has a size that is not eleven octal digits"}, {timeAt, checksumAt, "does not have the modification time 0"},
		{targetAt, magicAt, "has a link target"}, {userAt, majorAt, "has the name of an owner or group"},
		{majorAt, prefixAt, "has device numbers"}, {prefixAt, unusedAt, "has a prefix of its name"}, {unusedAt, block, "has bytes in the unused part of its header"},
	} {
		if !bytes.Equal(h[field.from:field.to], want[field.from:field.to]) {
			return errors.New(field.what)
		}
	}
	return errors.New("has a header with a wrong checksum")
}
