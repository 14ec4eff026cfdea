package interaction

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bind returns the binding of a token: a digest of the principal and of the request, whose params may be absent. Requests
// are the same if their methods, names and params are the same, where the order of members and the encoding of strings do
// not count, and _meta and the members that a further round adds are left out. The order of duplicate members counts,
// because it decides which of them a module uses.
func Bind(principal, method, name string, params []byte) []byte {
	h := sha256.New()
	for _, text := range []string{principal, method, name} {
		sum := sha256.Sum256([]byte(text))
		h.Write(sum[:])
	}
	if params != nil {
		sum := digestParams(params)
		h.Write(sum[:])
	}
	return h.Sum(nil)
}

// The members of a request's params that a further round adds.
const (
	MemberResponses = "inputResponses"
	MemberState     = "requestState"
)

// Bounds of params in which the order of members does not count: an object takes many times its size in memory while its
// members are sorted, and each level reads the value again.
const (
	maxDigestValues  = 100_000
	maxDigestNesting = 32
)

// isBound reports whether a member of params counts.
func isBound(key string) bool { return key != "_meta" && key != MemberResponses && key != MemberState }

// digestParams returns a digest of the members of params that count. Params that exceed the bounds are compared by their bytes.
func digestParams(params []byte) [32]byte {
	if rawjson.Bound(params, maxDigestValues, maxDigestNesting) == nil {
		return digest(params, isBound)
	}
	h := sha256.New()
	for key, value := range rawjson.Members(params) {
		if isBound(key) {
			writeMember(h, key, sha256.Sum256(value))
		}
	}
	return [32]byte(h.Sum(nil))
}

// digest returns a digest of a value in which the order of members does not count. keep decides which members of an object
// at the top count; nil: all.
func digest(value []byte, keep func(key string) bool) [32]byte {
	value = bytes.TrimSpace(value)
	h, kind := sha256.New(), rawjson.Kind(value)
	h.Write([]byte{kind})
	switch kind {
	case '{':
		type member struct {
			key string
			sum [32]byte
		}
		var members []member
		for key, value := range rawjson.Members(value) {
			if keep == nil || keep(key) {
				members = append(members, member{key, digest(value, nil)})
			}
		}
		slices.SortStableFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
		for _, m := range members {
			writeMember(h, m.key, m.sum)
		}
	case '[':
		for _, element := range rawjson.Elements(value) {
			sum := digest(element, nil)
			h.Write(sum[:])
		}
	case '"':
		text, _ := rawjson.Unquote(value)
		h.Write([]byte(text))
	default:
		h.Write(value)
	}
	return [32]byte(h.Sum(nil))
}

func writeMember(h hash.Hash, key string, sum [32]byte) {
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(key))))
	h.Write([]byte(key))
	h.Write(sum[:])
}
