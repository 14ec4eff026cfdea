// Package objects reads the objects of a repository: loose objects, packed objects and those of alternates. It writes loose objects. Start
// with Open, or with FromPack for a pack that a remote sent.
//
// Objects are untrusted input. go-git decodes pack entries and applies deltas. This package itself looks objects up and follows chains of
// deltas, because go-git follows chains recursively and inflates loose objects without a limit: a delta that names itself as its base
// would overflow the stack, from which recover cannot save the process. The size of every object is checked before it is inflated, the
// total work of an operation is bounded, and an object whose content does not have the object's hash is an error.
package objects

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

// HashSize is the length of a SHA-1, in bytes.
const HashSize = len(plumbing.ZeroHash)

// object is a decoded object.
type object struct {
	kind plumbing.ObjectType
	data []byte // content of the object; read-only, since the store's cache shares it
}

// HashOf returns the hash that names the object with the given type and content.
func HashOf(kind plumbing.ObjectType, data []byte) (sum plumbing.Hash) {
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	_, _ = h.Write(data)
	h.Sum(sum[:0])
	return sum
}

// ParseHash parses a SHA-1 that is written in hexadecimal digits.
func ParseHash(s string) (plumbing.Hash, error) {
	switch {
	case len(s) == 64 && isHex(s):
		return plumbing.ZeroHash, errors.New("this is a SHA-256 hash: only SHA-1 repositories are supported")
	case !plumbing.IsHash(s):
		return plumbing.ZeroHash, fmt.Errorf("%q is not a hash", hosterror.Truncate(s))
	}
	return plumbing.NewHash(s), nil
}

func isHex(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", c) }) < 0
}
