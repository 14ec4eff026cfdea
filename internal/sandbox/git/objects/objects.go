// Package objects reads a repository's objects, loose, packed and those of alternates, and writes loose ones.
// Start with Open, or with FromPack for a pack that a remote sent.
//
// Objects are untrusted input. go-git decodes pack entries and applies deltas; looking objects up and following
// delta chains is done here, because go-git follows chains recursively and inflates loose objects without a limit:
// a delta that names itself as its base would overflow the stack, which no recover can prevent. Every object is
// bounded in size before it is inflated, an operation is bounded in total, and an object whose content does not
// have its hash is an error.
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
	data []byte // shared with the store's cache: read-only
}

// HashOf returns the hash that names an object.
func HashOf(kind plumbing.ObjectType, data []byte) (sum plumbing.Hash) {
	h := sha1.New()
	_, _ = fmt.Fprintf(h, "%s %d\x00", kind, len(data))
	_, _ = h.Write(data)
	h.Sum(sum[:0])
	return sum
}

// ParseHash parses a SHA-1 in hexadecimal digits.
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
