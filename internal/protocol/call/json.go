package call

import (
	"cmp"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// NewScanner returns a Scanner of a text that clients get. It refuses valid JSON that ends the parsers of some clients, and often their
// connection: a plugin must not reach beyond its own calls with a result.
func NewScanner(text []byte) *rawjson.Scanner {
	s := rawjson.NewScanner(text)
	s.LimitNesting(abi.MaxNesting)
	s.RefuseInfinite()
	return s
}

// refusal says why the End of a Scanner is false.
func refusal(s *rawjson.Scanner) string { return cmp.Or(s.Refusal(), "it is not JSON") }

// Normalize prepares a JSON object of a plugin for clients. It replaces surrogates without their other half in place, and returns the reason
// why the text is not an object in UTF-8 that parsers of clients accept; "" if it is one.
func Normalize(text []byte) string {
	s := NewScanner(text)
	return accept(s, s.Object(nil))
}

// accept returns the reason why an object that s has read must not be passed on, as Normalize does.
func accept(s *rawjson.Scanner, object []byte) string {
	switch {
	case !s.End():
		return refusal(s)
	case rawjson.Kind(object) != '{':
		return "it is not an object"
	case !utf8.Valid(object):
		return "it is not UTF-8"
	case s.HasUnpaired():
		rawjson.ReplaceUnpaired(object)
	}
	return ""
}
