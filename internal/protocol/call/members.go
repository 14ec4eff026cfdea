package call

import (
	"cmp"
	"iter"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// member is a member of a result. Both slices are parts of the result, except a key with escapes.
type member struct{ key, value []byte }

// maxMembers bounds the members that a Result keeps: as many as MCP defines for a result. Results are untrusted, so their members must not
// take memory in proportion to their number.
const maxMembers = 8

// Validate returns the reason why Body is not a JSON object in UTF-8 that readers of clients accept; "" if it is one. A member that MCP
// defines must be unique. Validate is the only pass over an untrusted Body: Members yields what it found. Surrogates without their other
// half are replaced in Body.
func (r *Result) Validate() string {
	members, n := make([]member, 0, 4), 0
	unique := Unique{Known: resultMembers}
	s := NewScanner(r.Body)
	body := s.Object(func(key []byte) {
		unique.Add(key)
		if n++; n <= maxMembers {
			members = append(members, member{key, s.Value()})
		}
	})
	if n <= maxMembers {
		r.members = members
	}
	return cmp.Or(accept(s, body), unique.Ambiguous)
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

// AddMeta returns r with a member of the _meta of its Body, which must be a valid JSON object. Of a _meta that is not an object nothing is
// kept.
func (r Result) AddMeta(key string, value []byte) Result {
	meta := rawjson.Member(r.Body, "_meta")
	if rawjson.Kind(meta) != '{' {
		meta = []byte("{}")
	}
	r.Body, r.members = rawjson.Replace(r.Body, "_meta", rawjson.Replace(meta, key, value)), nil
	return r
}
