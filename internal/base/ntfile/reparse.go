package ntfile

import (
	"encoding/binary"
	"errors"
	"unicode/utf16"
)

// Tags of reparse points that name a target.
const (
	tagJunction = 0xA0000003 // IO_REPARSE_TAG_MOUNT_POINT
	tagSymlink  = 0xA000000C // IO_REPARSE_TAG_SYMLINK
)

var errReparse = errors.New("the link is malformed, or of a kind that names no path")

// targetOf decodes the printed name in the data of a reparse point.
func targetOf(data []byte) (string, error) {
	if len(data) < 8 {
		return "", errReparse
	}
	begin := 0
	switch binary.LittleEndian.Uint32(data) {
	case tagJunction:
		begin = 16
	case tagSymlink:
		begin = 20
	default:
		return "", errReparse
	}
	if len(data) < begin {
		return "", errReparse
	}
	offset, length := int(binary.LittleEndian.Uint16(data[12:])), int(binary.LittleEndian.Uint16(data[14:]))
	if length == 0 { // without a printed name, use the substitute name, which the system resolves
		offset, length = int(binary.LittleEndian.Uint16(data[8:])), int(binary.LittleEndian.Uint16(data[10:]))
	}
	if offset%2 != 0 || length%2 != 0 || begin+offset+length > len(data) {
		return "", errReparse
	}
	text := make([]uint16, length/2)
	for i := range text {
		text[i] = binary.LittleEndian.Uint16(data[begin+offset+2*i:])
	}
	return string(utf16.Decode(text)), nil
}

// Entry is a directory entry.
type Entry struct {
	Name       string
	Attributes uint32
	Tag        uint32 // tag of the reparse point, if Attributes has FILE_ATTRIBUTE_REPARSE_POINT
}

// NextEntry decodes the first FILE_ID_BOTH_DIR_INFO record of data, and returns the records after it. ok is false if the
// record is malformed.
func NextEntry(data []byte) (e Entry, rest []byte, ok bool) {
	const header = 104
	if len(data) < header {
		return e, nil, false
	}
	next, length := int(binary.LittleEndian.Uint32(data)), int(binary.LittleEndian.Uint32(data[60:]))
	if length%2 != 0 || length > len(data)-header || next != 0 && (next < header+length || next > len(data)) {
		return e, nil, false
	}
	text := make([]uint16, length/2)
	for i := range text {
		text[i] = binary.LittleEndian.Uint16(data[header+2*i:])
	}
	e = Entry{Name: decodeName(text), Attributes: binary.LittleEndian.Uint32(data[56:]), Tag: binary.LittleEndian.Uint32(data[64:])}
	if next > 0 {
		rest = data[next:]
	}
	return e, rest, true
}

// decodeName converts a name to UTF-8. A name with an unpaired surrogate, which UTF-8 cannot express, is followed by an invalid
// byte, so that it cannot be mistaken for the name of another file.
func decodeName(text []uint16) string {
	name := string(utf16.Decode(text))
	for i := 0; i < len(text); i++ {
		if !utf16.IsSurrogate(rune(text[i])) {
			continue
		}
		if i+1 == len(text) || utf16.DecodeRune(rune(text[i]), rune(text[i+1])) == '\uFFFD' {
			return name + "\xff"
		}
		i++
	}
	return name
}
