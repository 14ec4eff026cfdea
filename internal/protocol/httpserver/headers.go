package httpserver

import (
	"net/http"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/paramheader"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

func mismatch(why string) *abi.Error {
	return &abi.Error{Code: codeHeaderMismatch, Message: "Header mismatch: " + why}
}

// checkModern compares the headers of a modern message with its body.
func (s *Server) checkModern(h http.Header, view *gateway.View, m *gateway.Message) *abi.Error {
	if m.IsBatch() || m.IsResponse() {
		return &abi.Error{Code: codeInvalidRequest, Message: "Invalid request: protocol version " + gateway.ModernVersion + " has neither batches nor responses of the client"}
	}
	if m.ID() == nil {
		return nil // the headers of notifications are not defined
	}
	version, err := single(h, headerVersion)
	if err != nil {
		return err
	}
	switch stated, ok := m.Version(); {
	case !ok:
		return &abi.Error{Code: abi.CodeInvalidParams, Message: "Invalid params: missing or invalid _meta field " + gateway.MetaVersion}
	case stated != version:
		return mismatch(headerVersion + " is " + shown(version) + ", but " + gateway.MetaVersion + " is " + shown(stated))
	}
	if err := view.UnsupportedVersion(version); err != nil {
		return err
	}
	method, err := single(h, headerMethod)
	if err != nil {
		return err
	}
	if method != m.Method() {
		return mismatch(headerMethod + " is " + shown(method) + ", but the method is " + shown(m.Method()))
	}
	if !gateway.HasName(method) {
		return nil
	}
	header, err := single(h, headerName)
	if err != nil {
		return err
	}
	name, ok := paramheader.Decode(header)
	if !ok {
		return mismatch(headerName + " is not valid Base64")
	}
	if stated, _ := m.Name(); name != stated {
		return mismatch(headerName + " is " + shown(name) + ", but the parameter is " + shown(stated))
	}
	if why := paramheader.Check(view.ParamHeaders(m), h, m.Arguments()); why != "" {
		return mismatch(why)
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

// shown quotes a client's string for an error or log message.
func shown(s string) string {
	return visible.QuoteBounded(s, 128)
}
