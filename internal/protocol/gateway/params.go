package gateway

import (
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/interaction"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// params are a request's parameters and those of their members that several methods or the backend use. Values are
// raw; nil means absent. The last of duplicate members counts.
type params struct {
	all       []byte // nil if absent or null
	name      []byte
	uri       []byte
	arguments []byte
	argument  []byte
	cursor    []byte
	task      []byte // taskId
	responses []byte // inputResponses
	state     []byte // requestState
	ref       ref
	meta      meta
	ambiguous string // names the first ambiguous member; empty if none is
}

// ref is the reference of a completion/complete request.
type ref struct {
	kind, name, uri []byte
	ambiguous       string
}

// meta is the raw _meta of a request.
type meta struct {
	all           []byte
	progressToken []byte
	version       []byte
	capabilities  []byte
	client        []byte
	level         []byte
}

func (p *params) read(s *rawjson.Scanner) {
	*p = params{}
	p.all, p.ambiguous = readUnique(s, func(key []byte) {
		switch string(key) {
		case "name":
			p.name = s.Value()
		case "uri":
			p.uri = s.Value()
		case "arguments":
			p.arguments = s.Value()
		case "argument":
			p.argument = s.Value()
		case "cursor":
			p.cursor = s.Value()
		case memberTaskID:
			p.task = s.Value()
		case interaction.MemberResponses:
			p.responses = s.Value()
		case interaction.MemberState:
			p.state = s.Value()
		case "ref":
			p.ref.read(s)
		case "_meta":
			p.meta.read(s)
		}
	})
	if rawjson.Kind(p.all) == 'n' {
		p.all = nil
	}
}

func (r *ref) read(s *rawjson.Scanner) {
	*r = ref{}
	_, r.ambiguous = readUnique(s, func(key []byte) {
		switch string(key) {
		case "type":
			r.kind = s.Value()
		case "name":
			r.name = s.Value()
		case "uri":
			r.uri = s.Value()
		}
	})
}

func (m *meta) read(s *rawjson.Scanner) {
	*m = meta{}
	m.all = s.Object(func(key []byte) {
		switch string(key) {
		case "progressToken":
			m.progressToken = s.Value()
		case mcp.MetaKeyProtocolVersion:
			m.version = s.Value()
		case mcp.MetaKeyClientCapabilities:
			m.capabilities = s.Value()
		case mcp.MetaKeyClientInfo:
			m.client = s.Value()
		case mcp.MetaKeyLogLevel:
			m.level = s.Value()
		}
	})
}

// requestKeys are the members that decide whether a request is admitted. The gateway refuses a request in which one is
// ambiguous, because the plugin could read a value that was not checked.
var requestKeys = call.Names("name", "uri", "arguments", "ref", "argument", "type", "cursor", memberTaskID, interaction.MemberResponses, interaction.MemberState)

// readUnique reads an object. It calls take with the key of each member; take may consume the member's value. ambiguous
// names the first ambiguous member; it is empty if none is ambiguous.
func readUnique(s *rawjson.Scanner, take func(key []byte)) (object []byte, ambiguous string) {
	unique := call.Unique{Known: requestKeys}
	object = s.Object(func(key []byte) {
		unique.Add(key)
		take(key)
	})
	return object, unique.Ambiguous
}
