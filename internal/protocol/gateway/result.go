package gateway

import (
	"bytes"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// resultComplete is a member of every result of the modern era; it means that the result needs no further round trip.
const resultComplete = `"resultType":"complete"`

// scopePrivate is the value of cacheScope for results that other clients may not get.
var scopePrivate = []byte(`"private"`)

// serverInfo encodes the member of _meta that identifies the server.
func serverInfo(name, version string) []byte {
	return fmt.Appendf(nil, `"%s":{"name":%s,"version":%s}`, mcp.MetaKeyServerInfo, rawjson.Quote(name), rawjson.Quote(version))
}

// modern adds to a checked result the members that the modern era requires: its type, the server in _meta, and default
// caching hints if cached is set and the result has none. If private is set, no cache may give the result to other clients, whatever the plugin
// says. The bytes of all other values are unchanged. A _meta that is not an object is left out: a worker is not trusted to have checked its
// results.
func modern(result call.Result, info []byte, cached, private bool) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(result.Body)+len(info)+96))
	out.WriteString(`{` + resultComplete)
	if cached && !hasHints(result) {
		out.WriteString(`,` + listHints)
	} else {
		cached = false // the result has both hints
	}
	meta := false
	for key, value := range result.Members() {
		if key == "resultType" || key == "_meta" && rawjson.Kind(value) != '{' || cached && (key == "ttlMs" || key == "cacheScope") {
			continue
		}
		out.WriteByte(',')
		out.Write(rawjson.Quote(key))
		out.WriteByte(':')
		if private && key == "cacheScope" {
			value = scopePrivate
		}
		if key == "_meta" {
			meta, value = true, withInfo(value, info)
		}
		out.Write(value)
	}
	if !meta {
		out.WriteString(`,"_meta":{`)
		out.Write(info)
		out.WriteByte('}')
	}
	out.WriteByte('}')
	return out.Bytes()
}

// hasHints reports whether a result has both caching hints.
func hasHints(result call.Result) bool {
	ttl, scope := false, false
	for key := range result.Members() {
		ttl, scope = ttl || key == "ttlMs", scope || key == "cacheScope"
	}
	return ttl && scope
}

// withInfo adds the server to the _meta of a result, which is an object, unless it has one.
func withInfo(meta, info []byte) []byte {
	if rawjson.Member(meta, mcp.MetaKeyServerInfo) != nil {
		return meta
	}
	out := append([]byte(`{`), info...)
	rest := meta[1:] // past the brace
	if bytes.TrimLeft(rest, " \t\r\n")[0] != '}' {
		out = append(out, ',')
	}
	return append(out, rest...)
}
