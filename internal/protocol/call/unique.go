package call

import (
	"bytes"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
)

// Unique finds the first of an object's members that is ambiguous: one that occurs twice, or beside a name that differs only in case.
// Parsers differ in which of the two they use, so a reader could use the one that was not checked. Its rules are those of
// rawjson.Ambiguous.
type Unique struct {
	Known     [][]byte // the names that must be unique, at most 64; none is empty
	Ambiguous string   // describes the first ambiguous member; empty if none is
	seen      uint64
}

// Add adds the key of the next member. It returns the index of the key in Known, or -1 if the key is not known or is ambiguous.
func (u *Unique) Add(key []byte) int {
	if u.Ambiguous != "" || len(key) == 0 {
		return -1
	}
	for i, known := range u.Known {
		// Most keys differ in the first byte. A non-ASCII character can fold to a letter of ASCII.
		if key[0] < utf8.RuneSelf && (key[0]^known[0])&^0x20 != 0 || !bytes.EqualFold(key, known) {
			continue
		}
		if same := bytes.Equal(key, known); !same || u.seen&(1<<i) != 0 {
			u.Ambiguous = AmbiguousKey(string(key), string(known))
			return -1
		}
		u.seen |= 1 << i
		return i
	}
	return -1
}

// has reports whether the member Known[i] has occurred.
func (u *Unique) has(i int) bool { return u.seen&(1<<i) != 0 }

// AmbiguousKey describes a key that is ambiguous with a known one.
func AmbiguousKey(key, known string) string {
	if key == known {
		return known + " is given twice"
	}
	return visible.Name(key) + " differs from " + known + " only in case"
}

// Names converts names for Unique.Known.
func Names(names ...string) [][]byte {
	out := make([][]byte, len(names))
	for i, name := range names {
		out[i] = []byte(name)
	}
	return out
}
