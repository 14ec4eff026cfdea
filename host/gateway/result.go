package gateway

import (
	"bytes"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
)

// resultComplete is what every result of the modern era says of itself: no further round trip.
const resultComplete = `"resultType":"complete"`

// serverInfo is the member that tells who made a result.
func serverInfo(name, version string) []byte {
	return fmt.Appendf(nil, `"%s":{"name":%s,"version":%s}`, mcp.MetaKeyServerInfo, rawjson.Quote(name), rawjson.Quote(version))
}

// modern adds to a checked result what the modern era asks of each: its type, and in _meta the server.
// A cached one says how long it holds, not at all unless it says so itself. What the result has itself
// keeps its bytes.
func modern(result, info []byte, cached bool) []byte {
	out := bytes.NewBuffer(make([]byte, 0, len(result)+len(info)+96))
	out.WriteString(`{` + resultComplete)
	if cached && (rawjson.Member(result, "ttlMs") == nil || rawjson.Member(result, "cacheScope") == nil) {
		out.WriteString(`,` + listHints)
	} else {
		cached = false // the result says it itself
	}
	meta := false
	for key, value := range rawjson.Members(result) {
		if key == "resultType" || cached && (key == "ttlMs" || key == "cacheScope") {
			continue
		}
		out.WriteByte(',')
		out.Write(rawjson.Quote(key))
		out.WriteByte(':')
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

// withInfo adds the server to a result's own _meta, unless it names one.
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
