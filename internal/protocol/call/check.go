package call

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Scanned is what one pass over a method's result finds.
type Scanned struct {
	JSON       []byte // the result; nil if it is absent
	Why        string // the reason why the result does not conform to MCP; empty if it conforms
	IsError    bool   // whether a tool's result has isError set
	Structured []byte // structuredContent of a tool's result; nil if it is absent
}

// Scan reads and checks the result of a method. Members unknown to MCP are accepted, and so are all results of methods without checks.
// The caller must not use what it returns before s.End has reported that the text is valid.
func Scan(s *rawjson.Scanner, method string) Scanned {
	c, checked := checks[method]
	if !checked {
		return Scanned{JSON: s.Value()}
	}
	r := resultScan{Scanner: s, members: Unique{Known: resultMembers}}
	r.JSON = s.Object(func(key []byte) {
		r.members.Add(key)
		r.note(r.member(c, key))
	})
	switch {
	case !utf8.Valid(r.JSON):
		r.Why = "it is not UTF-8"
	case rawjson.Kind(r.JSON) != '{':
		r.Why = "it is not an object"
	case r.members.Ambiguous != "":
		r.Why = r.members.Ambiguous
	case r.Why == "" && !r.found:
		r.Why = c.required + " is missing"
	}
	return r.Scanned
}

// Check returns the reason why a result does not conform to MCP; "" if it conforms.
func Check(method string, result []byte) string {
	s := NewScanner(result)
	found := Scan(s, method)
	if !s.End() {
		return refusal(s)
	}
	return found.Why
}

// check describes the results of a method.
type check struct {
	required string // the member that they must have
	// member reads the member called key, if it is specific to the method, and returns what is wrong with it.
	member func(r *resultScan, key []byte) string
}

var checks = map[string]check{
	abi.MethodToolsCall:     {"content", (*resultScan).toolMember},
	abi.MethodPromptsGet:    {"messages", (*resultScan).promptMember},
	abi.MethodResourcesRead: {"contents", (*resultScan).readMember},
	abi.MethodComplete:      {"completion.values", (*resultScan).completionMember},
}

// Members that are checked in objects that are passed on unchanged. They must be unique.
var (
	resultMembers = Names("_meta", "resultType", "content", "isError", "structuredContent", "description", "messages",
		"contents", "ttlMs", "cacheScope", "completion")
	metaMembers       = Names("io.modelcontextprotocol/serverInfo", "io.modelcontextprotocol/subscriptionId", "bulkhead/error")
	messageMembers    = Names("role", "content")
	completionMembers = Names("values", "total", "hasMore")
)

// resultScan reads one result. Of several reasons against it, that of the first member counts.
type resultScan struct {
	*rawjson.Scanner
	Scanned
	members Unique
	found   bool // whether the required member was found
}

func (r *resultScan) note(why string) {
	if r.Why == "" {
		r.Why = why
	}
}

// member reads a member of the result and returns what is wrong with it. The Scanner skips what it does not read.
func (r *resultScan) member(c check, key []byte) string {
	switch string(key) {
	case "_meta":
		meta, ambiguous := r.unique(metaMembers, nil)
		if why := wrongKind("_meta", meta, '{'); why != "" {
			return why
		}
		return ambiguous
	case "resultType":
		if text, _ := rawjson.Unquote(r.Value()); text != "complete" {
			return `resultType is not "complete"`
		}
		return ""
	}
	return c.member(r, key)
}

// unique reads an object whose known members must be unique. If take is not nil, it is called with the index of each known member, and
// may read it.
func (r *resultScan) unique(known [][]byte, take func(i int)) (object []byte, ambiguous string) {
	u := Unique{Known: known}
	object = r.Object(func(key []byte) {
		if i := u.Add(key); i >= 0 && take != nil {
			take(i)
		}
	})
	return object, u.Ambiguous
}

// items reads an array. The text that check returns is appended to the item's name.
func (r *resultScan) items(name string, check func(i int) string) string {
	first := ""
	array := r.Array(func(i int) {
		if first != "" {
			return
		}
		if why := check(i); why != "" {
			first = name + "[" + strconv.Itoa(i) + "]" + why
		}
	})
	if why := wrongKind(name, array, '['); why != "" {
		return why
	}
	return first
}

func wrongKind(name string, value []byte, want byte) string {
	if rawjson.Kind(value) != want {
		return name + " is not " + kindName(want)
	}
	return ""
}

func kindName(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't':
		return "true or false"
	case '0':
		return "a number"
	}
	return "a string"
}

// toolMember reads a member of the result of tools/call.
func (r *resultScan) toolMember(key []byte) string {
	switch string(key) {
	case "content":
		r.found = true
		return r.items("content", func(int) string { return r.content() })
	case "isError":
		value := r.Value()
		r.IsError = string(value) == "true"
		return wrongKind("isError", value, 't')
	case "structuredContent":
		r.Structured = r.Value()
		return wrongKind("structuredContent", r.Structured, '{')
	}
	return ""
}

// promptMember reads a member of the result of prompts/get.
func (r *resultScan) promptMember(key []byte) string {
	switch string(key) {
	case "description":
		return wrongKind("description", r.Value(), '"')
	case "messages":
		r.found = true
		return r.items("messages", func(int) string { return r.message() })
	}
	return ""
}

func (r *resultScan) message() string {
	role, content := "", " is not an object"
	message, ambiguous := r.unique(messageMembers, func(i int) {
		if i == 0 {
			role, _ = rawjson.Unquote(r.Value())
		} else {
			content = r.content()
		}
	})
	switch {
	case rawjson.Kind(message) != '{':
		return " is not an object"
	case ambiguous != "":
		return "." + ambiguous
	case role != "user" && role != "assistant":
		return ".role is not user or assistant"
	case content != "":
		return ".content" + content
	}
	return ""
}

// readMember reads a member of the result of resources/read.
func (r *resultScan) readMember(key []byte) string {
	switch string(key) {
	case "contents":
		r.found = true
		return r.items("contents", func(int) string { return r.resource() })
	case "ttlMs":
		// Typed clients decode it into a signed 64-bit integer.
		if _, err := strconv.ParseUint(string(r.Value()), 10, 63); err != nil {
			return "ttlMs is not a whole number of milliseconds"
		}
	case "cacheScope":
		if scope, _ := rawjson.Unquote(r.Value()); scope != "public" && scope != "private" {
			return "cacheScope is not public or private"
		}
	}
	return ""
}

// maxCompletions is the limit that MCP sets.
const maxCompletions = 100

// completionMember reads a member of the result of completion/complete.
func (r *resultScan) completionMember(key []byte) string {
	if string(key) != "completion" {
		return ""
	}
	first := ""
	completion, ambiguous := r.unique(completionMembers, func(i int) {
		why := ""
		switch i {
		case 0:
			r.found = true
			why = r.items("completion.values", r.completion)
		case 1:
			why = wrongKind("completion.total", r.Value(), '0')
		case 2:
			why = wrongKind("completion.hasMore", r.Value(), 't')
		}
		if first == "" {
			first = why
		}
	})
	switch {
	case rawjson.Kind(completion) != '{':
		return wrongKind("completion", completion, '{')
	case ambiguous != "":
		return "completion." + ambiguous
	}
	return first
}

// completion reads the i-th value of a completion.
func (r *resultScan) completion(i int) string {
	switch {
	case i >= maxCompletions:
		return fmt.Sprintf(" exceeds the limit of %d values", maxCompletions)
	case rawjson.Kind(r.Value()) != '"':
		return " is not a string"
	}
	return ""
}
