package httpserver

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/internal/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func mismatch(why string) *abi.Error {
	return &abi.Error{Code: codeHeaderMismatch, Message: "Header mismatch: " + why}
}

// checkModern compares the headers of a modern message with its body.
func (s *Server) checkModern(h http.Header, m *gateway.Message) *abi.Error {
	if m.IsBatch() || m.IsResponse() {
		return &abi.Error{Code: codeInvalidRequest, Message: "Invalid request: protocol version " + mcp.ProtocolVersion20260728 + " has neither batches nor responses of the client"}
	}
	if m.ID() == nil {
		return nil // the headers of notifications are not defined
	}
	version, err := single(h, mcp.HeaderProtocolVersion)
	if err != nil {
		return err
	}
	switch stated, ok := m.Version(); {
	case !ok:
		return &abi.Error{Code: abi.CodeInvalidParams, Message: "Invalid params: missing or invalid _meta field " + mcp.MetaKeyProtocolVersion}
	case stated != version:
		return mismatch(mcp.HeaderProtocolVersion + " is " + shown(version) + ", but " + mcp.MetaKeyProtocolVersion + " is " + shown(stated))
	}
	if err := s.config.Gateway.UnsupportedVersion(version); err != nil {
		return err
	}
	method, err := single(h, mcp.HeaderMethod)
	if err != nil {
		return err
	}
	if method != m.Method() {
		return mismatch(mcp.HeaderMethod + " is " + shown(method) + ", but the method is " + shown(m.Method()))
	}
	if !gateway.HasName(method) {
		return nil
	}
	header, err := single(h, mcp.HeaderName)
	if err != nil {
		return err
	}
	name, ok := decodeValue(header)
	if !ok {
		return mismatch(mcp.HeaderName + " is not valid Base64")
	}
	if stated, _ := m.Name(); name != stated {
		return mismatch(mcp.HeaderName + " is " + shown(name) + ", but the parameter is " + shown(stated))
	}
	return nil
}

// single returns the value of a header that must occur once, in ASCII.
func single(h http.Header, name string) (string, *abi.Error) {
	values := h[name]
	switch {
	case len(values) == 0 || values[0] == "":
		return "", mismatch(name + " is missing")
	case len(values) > 1:
		return "", mismatch(name + " is given twice")
	case !isPlain(values[0]):
		return "", mismatch(name + " has characters that are not ASCII")
	}
	return values[0], nil
}

func isPlain(value string) bool {
	return strings.IndexFunc(value, func(r rune) bool { return r > 0x7e || r < ' ' && r != '\t' }) < 0
}

// decodeValue decodes the value of a header that may be encoded as Base64.
func decodeValue(value string) (string, bool) {
	if inner, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if inner, ok = strings.CutSuffix(inner, "?="); ok {
			decoded, err := base64.StdEncoding.Strict().DecodeString(inner)
			return string(decoded), err == nil
		}
	}
	return value, true
}

// shown quotes a client's string for an error or log message.
func shown(s string) string {
	const most = 128 // bytes
	if len(s) > most {
		return visible.Quote(strings.ToValidUTF8(s[:most], "")) + "…"
	}
	return visible.Quote(s)
}
