package code

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// Sections of a module.
const (
	headerSize       = 8 // magic and version
	memorySection    = 5
	codeSection      = 10
	dataSection      = 11
	dataCountSection = 12
)

// emptyBody is the body of a function that has no locals and traps, preceded by its size. It is valid for every function
// type.
var emptyBody = []byte{3, 0, 0x00, 0x0b}

var errMalformed = errors.New("the rewritten module is malformed")

// skeleton returns a valid module in which emptyBody replaces the bodies of all functions, and which has few data segments. A worker needs only
// the skeleton and the functions' native code. wazero would decode and validate the original bodies at each start, which took half of
// the time of a plugin's first call.
func skeleton(module []byte) ([]byte, error) {
	if len(module) < headerSize {
		return nil, errMalformed
	}
	out := append(make([]byte, 0, len(module)/4), module[:headerSize]...)
	definesMemory, refersToData := false, false
	for rest := module[headerSize:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errMalformed
		}
		id, content := rest[0], rest[1+n:1+n+int(size)]
		rest = rest[1+n+int(size):]
		switch id {
		case memorySection:
			definesMemory = len(content) > 0 && content[0] == 1
		case dataCountSection:
			refersToData = true // only with this section can an instruction refer to a data segment
		case dataSection:
			if definesMemory && !refersToData {
				content = mergeSegments(content)
			}
		case codeSection:
			count, n := binary.Uvarint(content)
			if n <= 0 || count > uint64(len(content)) {
				return nil, errMalformed
			}
			content = append(content[:n:n], bytes.Repeat(emptyBody, int(count))...)
		}
		out = binary.AppendUvarint(append(out, id), uint64(len(content)))
		out = append(out, content...)
	}
	return out, nil
}
