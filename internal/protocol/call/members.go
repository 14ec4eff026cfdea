package call

import (
	"iter"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// member is a member of a result. Both slices are parts of the result, except a key with escapes.
type member struct{ key, value []byte }

// maxMembers bounds the members that a Result keeps: as many as MCP defines for a result. Results are untrusted, so their members must not
// take memory in proportion to their number.
const maxMembers = 8

// Validate reports whether Body is a JSON object in valid UTF-8. It is the only pass over an untrusted Body: Members yields what it found.
func (r *Result) Validate() bool {
	members, n := make([]member, 0, 4), 0
	err := rawjson.ScanObject(r.Body, func(key, value []byte) {
		if n++; n <= maxMembers {
			members = append(members, member{key, value})
		}
	})
	if err != nil || !utf8.Valid(r.Body) {
		return false
	}
	if n <= maxMembers {
		r.members = members
	}
	return true
}

// Members yields the members of Body, with unescaped keys. Body must be a valid JSON object.
func (r Result) Members() iter.Seq2[string, []byte] {
	if r.members == nil {
		return rawjson.Members(r.Body)
	}
	return func(yield func(string, []byte) bool) {
		for _, m := range r.members {
			if !yield(string(m.key), m.value) {
				return
			}
		}
	}
}
