package gateway

import (
	"encoding/json"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// requestMeta is the decoded _meta of a request, and what is needed to handle it.
type requestMeta struct {
	served  *served // what the server offers to it
	modern  bool    // the protocol version is 2026-07-28, which has no handshake
	version string  // the protocol version of a modern request
	token   []byte  // progressToken, raw; nil if the client wants no progress
	level   string  // minimum level of log messages that a modern request wants; empty: it wants none
	client  string  // "name/version" of the client of a modern request; empty if it is not stated
}

// translated returns an error with the code of its era: in the modern era an unknown resource is reported as invalid
// params.
func (m requestMeta) translated(err *abi.Error) *abi.Error {
	if !m.modern || err.Code != abi.CodeResourceNotFound {
		return err
	}
	return &abi.Error{Code: abi.CodeInvalidParams, Message: err.Message, Data: err.Data}
}

// meta decodes a request's _meta and refuses unsupported protocol versions. Each request has its own era: one
// without a version, or with a version before 2026-07-28, is a legacy request, even if others of the session are
// modern.
func (now *served) meta(m *message) (requestMeta, *abi.Error) {
	sent := m.params.meta
	meta := requestMeta{served: now, client: clientName(sent.client)}
	meta.level, _ = rawjson.Unquote(sent.level)
	if kind := rawjson.Kind(sent.progressToken); kind == '"' || kind == '0' {
		meta.token = sent.progressToken
	}
	version, _ := rawjson.Unquote(sent.version)
	if !mcp.IsModernProtocol(version) {
		return meta, nil
	}
	meta.modern, meta.version = true, version
	switch {
	case m.method == string(mcp.MethodServerDiscover) && !now.supportsModern():
		// Clients fall back to initialize only on this error. Some do not fall back if the error lists the supported
		// versions.
		return meta, methodNotFound(m.method)
	case !slices.Contains(now.versions, version):
		return meta, now.unsupportedVersion(version)
	case rawjson.Kind(sent.capabilities) != '{':
		return meta, invalidParams("missing or invalid _meta field " + mcp.MetaKeyClientCapabilities)
	}
	return meta, nil
}

func (now *served) supportsModern() bool {
	return slices.ContainsFunc(now.versions, mcp.IsModernProtocol)
}

func (now *served) unsupportedVersion(version string) *abi.Error {
	if len(version) > visible.MaxName {
		version = visible.Name(version)
	}
	e := mcp.UnsupportedProtocolVersionError{Version: version, Supported: now.versions}.JSONRPCError().Error
	data, _ := json.Marshal(e.Data) // strings always encode
	return &abi.Error{Code: e.Code, Message: e.Message, Data: data}
}

// negotiate returns the protocol version for the response to an initialize request, given the requested one.
func (now *served) negotiate(requested string) string {
	switch {
	case len(now.config.ProtocolVersions) == 0:
		return mcp.NegotiateLegacyVersion(requested)
	case slices.Contains(now.legacy, requested):
		return requested
	}
	return now.legacy[0]
}
