package interaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bind returns the binding of a token: a digest of the principal and of the request, whose params may be absent. Requests
// are the same if their methods, names and params are the same, where the order of members and the encoding of strings do
// not count, and _meta and the members that a further round adds are left out.
func Bind(principal, method, name string, params []byte) []byte {
	h := sha256.New()
	for _, text := range []string{principal, method, name} {
		sum := sha256.Sum256([]byte(text))
		h.Write(sum[:])
	}
	if params != nil {
		sum := digest(params, func(key string) bool { return key != "_meta" && key != MemberResponses && key != MemberState })
		h.Write(sum[:])
	}
	return h.Sum(nil)
}

// The members of a request's params that a further round adds.
const (
	MemberResponses = "inputResponses"
	MemberState     = "requestState"
)

// maxDigestNesting is the nesting below which values are compared by their bytes: each level reads the value again.
const maxDigestNesting = 32

// digest returns a digest of a value in which the order of members does not count. keep decides which members of an object
// at the top count; nil: all.
func digest(value []byte, keep func(key string) bool) [32]byte { return digestAt(value, keep, 0) }

func digestAt(value []byte, keep func(key string) bool, depth int) [32]byte {
	value = bytes.TrimSpace(value)
	kind := rawjson.Kind(value)
	if depth > maxDigestNesting {
		kind = '0'
	}
	text := []byte{kind}
	switch kind {
	case '{':
		var members [][]byte
		for key, member := range rawjson.Members(value) {
			if keep == nil || keep(key) {
				sum := digestAt(member, nil, depth+1)
				members = append(members, append(binary.BigEndian.AppendUint64(nil, uint64(len(key))), key+string(sum[:])...))
			}
		}
		slices.SortStableFunc(members, bytes.Compare)
		text = append(text, bytes.Join(members, nil)...)
	case '[':
		for _, element := range rawjson.Elements(value) {
			sum := digestAt(element, nil, depth+1)
			text = append(text, sum[:]...)
		}
	case '"':
		s, _ := rawjson.Unquote(value)
		text = append(text, s...)
	default:
		text = append(text, value...)
	}
	return sha256.Sum256(text)
}
