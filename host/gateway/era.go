package gateway

import (
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/host/rawjson"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// requestMeta is what the gateway reads of a request's _meta.
type requestMeta struct {
	modern bool   // the request speaks 2026-07-28, which has no handshake
	token  []byte // progressToken as it stands; nil: no progress is wanted
	level  string // least level of log messages wanted, of a modern request; empty: none
	client string // who a modern request comes from; empty: it does not say
}

// coded gives an error the code that its era has for it: in the modern one what is not there is a fault of
// the parameters.
func (m requestMeta) coded(err *abi.Error) *abi.Error {
	if !m.modern || err.Code != abi.CodeResourceNotFound {
		return err
	}
	return &abi.Error{Code: abi.CodeInvalidParams, Message: err.Message, Data: err.Data}
}

// meta reads a request's _meta and refuses a version that is not spoken. A request without a version,
// or with one before 2026-07-28, belongs to the era of initialize, also when others on the same stream
// do not.
func (g *Gateway) meta(m *message) (requestMeta, *abi.Error) {
	sent := m.params.meta
	meta := requestMeta{client: clientName(sent.client)}
	meta.level, _ = rawjson.Unquote(sent.level)
	if kind := rawjson.Kind(sent.progressToken); kind == '"' || kind == '0' {
		meta.token = sent.progressToken
	}
	asked, _ := rawjson.Unquote(sent.version)
	if !mcp.IsModernProtocol(asked) {
		return meta, nil
	}
	meta.modern = true
	switch {
	case m.method == string(mcp.MethodServerDiscover) && !g.speaksModern():
		// Clients go back to initialize on this answer only; told of other versions, some go on.
		return meta, methodNotFound(m.method)
	case rawjson.Kind(sent.capabilities) != '{':
		return meta, invalidParams("missing or invalid _meta field " + mcp.MetaKeyClientCapabilities)
	case !slices.Contains(g.versions, asked):
		return meta, g.unsupported(asked)
	}
	return meta, nil
}

func (g *Gateway) speaksModern() bool { return slices.ContainsFunc(g.versions, mcp.IsModernProtocol) }

func (g *Gateway) unsupported(version string) *abi.Error {
	if len(version) > maxName {
		version = bounded(version)
	}
	e := mcp.UnsupportedProtocolVersionError{Version: version, Supported: g.versions}.JSONRPCError().Error
	data, _ := json.Marshal(e.Data) // strings always encode
	return &abi.Error{Code: e.Code, Message: e.Message, Data: data}
}

// negotiate is the version that an initialize which asks for asked is answered with.
func (g *Gateway) negotiate(asked string) string {
	switch {
	case len(g.config.ProtocolVersions) == 0:
		return mcp.NegotiateLegacyVersion(asked)
	case slices.Contains(g.legacy, asked):
		return asked
	}
	return g.legacy[0]
}
