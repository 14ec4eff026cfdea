package code

import (
	"encoding/binary"
	"errors"
)

// Sections of a module.
const (
	headerSize  = 8 // magic and version
	codeSection = 10
)

// emptyBody is the body of a function that has no locals and traps, preceded by its size. It is valid for every function
// type.
var emptyBody = []byte{3, 0, 0x00, 0x0b}

var errMalformed = errors.New("the rewritten module is malformed")

// skeleton returns a valid module in which emptyBody replaces the bodies of all functions. A worker needs only the skeleton
// and the functions' native code. wazero would decode and validate the original bodies at each start, which took half of
// the time of a plugin's first call.
func skeleton(module []byte) ([]byte, error) {
	if len(module) < headerSize {
		return nil, errMalformed
	}
	out := append(make([]byte, 0, len(module)/4), module[:headerSize]...)
	for rest := module[headerSize:]; len(rest) > 0; {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errMalformed
		}
		end := 1 + n + int(size)
		section, content := rest[:end], rest[1+n:end]
		rest = rest[end:]
		if section[0] != codeSection {
			out = append(out, section...)
			continue
		}
		count, n := binary.Uvarint(content)
		if n <= 0 || count > uint64(len(content)) {
			return nil, errMalformed
		}
		bodies := content[:n:n]
		for range count {
			bodies = append(bodies, emptyBody...)
		}
		out = binary.AppendUvarint(append(out, codeSection), uint64(len(bodies)))
		out = append(out, bodies...)
	}
	return out, nil
}
