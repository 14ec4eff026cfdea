package graph

import (
	"bytes"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// The encodings have the bytes of JSON.stringify, with which the reference server writes its file and its answers. So
// the members of a graph are encoded in their order, and without escapes for U+2028 and U+2029, which encoding/json has.

// Lines encodes the graph as the lines of a file, without a newline at the end.
func (g *Graph) Lines() []byte {
	var out []byte
	line := func(members func([]byte) []byte, start string) {
		out = append(members(append(out, start...)), "}\n"...)
	}
	for _, e := range g.Entities {
		line(e.appendMembers, `{"type":"entity",`)
	}
	for _, r := range g.Relations {
		line(r.appendMembers, `{"type":"relation",`)
	}
	for _, other := range g.other {
		out = append(append(out, other...), '\n')
	}
	return bytes.TrimSuffix(out, []byte("\n"))
}

// JSON encodes the entities and relations as an object.
func (g *Graph) JSON() []byte {
	out := append(AppendEntities([]byte(`{"entities":`), g.Entities), `,"relations":`...)
	return append(AppendRelations(out, g.Relations), '}')
}

// AppendEntities appends an array of entities to out.
func AppendEntities(out []byte, entities []Entity) []byte {
	return appendArray(out, entities, func(out []byte, e Entity) []byte {
		return append(e.appendMembers(append(out, '{')), '}')
	})
}

// AppendRelations appends an array of relations to out.
func AppendRelations(out []byte, relations []Relation) []byte {
	return appendArray(out, relations, func(out []byte, r Relation) []byte {
		return append(r.appendMembers(append(out, '{')), '}')
	})
}

// AppendAdded appends an array of added observations to out.
func AppendAdded(out []byte, added []Observations) []byte {
	return appendArray(out, added, func(out []byte, o Observations) []byte {
		out = appendQuote(append(out, `{"entityName":`...), o.Entity)
		out = appendArray(append(out, `,"addedObservations":`...), o.Contents, appendQuote)
		return append(out, '}')
	})
}

func (e Entity) appendMembers(out []byte) []byte {
	out = appendQuote(append(out, `"name":`...), e.Name)
	out = appendQuote(append(out, `,"entityType":`...), e.Type)
	return appendArray(append(out, `,"observations":`...), e.Observations, appendQuote)
}

func (r Relation) appendMembers(out []byte) []byte {
	out = appendQuote(append(out, `"from":`...), r.From)
	out = appendQuote(append(out, `,"to":`...), r.To)
	return appendQuote(append(out, `,"relationType":`...), r.Type)
}

func appendArray[T any](out []byte, values []T, appendValue func([]byte, T) []byte) []byte {
	out = append(out, '[')
	for i, v := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendValue(out, v)
	}
	return append(out, ']')
}

const separators = "\u2028\u2029"

// unescape replaces the escapes of separators in an encoded string. It consumes escaped backslashes, so that what
// follows them is no escape.
var unescape = strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029")

func appendQuote(out []byte, s string) []byte {
	if strings.ContainsAny(s, separators) {
		return append(out, unescape.Replace(string(rawjson.Quote(s)))...)
	}
	return rawjson.AppendQuote(out, s)
}
