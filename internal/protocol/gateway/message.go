package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/base/visible"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Error codes of JSON-RPC that package abi does not define.
const (
	codeParseError     = -32700
	codeInvalidRequest = -32600
	codeServerError    = -32000 // "connection closed" in the MCP SDKs
)

const maxID = 1024 // bytes of an id, which is kept while its call runs

// message is a JSON-RPC request or notification. Its slices alias the line.
type message struct {
	id     []byte // a string or number, raw; nil for a notification
	method string // empty for a response
	reply  *reply // set for a response
	params params
	size   int // bytes of memory that it retains
}

// parse reads and validates one message, a JSON object, in a single pass. On an error the message has the id of the
// request, if it is known. A message that nests too deep is refused, because a module's parser may exhaust its stack.
func parse(object []byte) (*message, *abi.Error) {
	m := new(message)
	var version, id, method, result, failure []byte
	s := rawjson.NewScanner(object)
	s.LimitNesting(abi.MaxNesting)
	s.Object(func(key []byte) {
		switch string(key) {
		case "jsonrpc":
			version = s.Value()
		case "id":
			id = s.Value()
		case "method":
			method = s.Value()
		case "params":
			m.params.read(s)
		case "result":
			result = s.Value()
		case "error":
			failure = s.Value()
		}
	})
	refused := s.Refusal()
	if !s.End() && refused == "" {
		return &message{}, parseError(object)
	}
	response := result != nil || failure != nil
	if response && method == nil {
		return &message{reply: &reply{id: id, result: result, failure: failure, refused: refused}}, nil
	}
	var err *abi.Error
	if m.id, err = checkID(id); err != nil {
		return m, err
	}
	if refused != "" {
		return m, invalidRequest(refused)
	}
	if v, _ := rawjson.Unquote(version); v != "2.0" {
		return m, &abi.Error{Code: codeInvalidRequest, Message: "Invalid JSON-RPC version"}
	}
	if m.method, _ = rawjson.Unquote(method); m.method == "" {
		return m, invalidRequest("method must be a string that is not empty")
	}
	if response {
		return m, invalidRequest("a message has either a method or a result or error")
	}
	return m, nil
}

// checkID accepts strings and numbers. A null id is treated like an absent one, which makes a notification.
func checkID(id []byte) ([]byte, *abi.Error) {
	switch rawjson.Kind(id) {
	case 0, 'n':
		return nil, nil
	case '"', '0':
		if len(id) > maxID {
			return nil, invalidRequest(fmt.Sprintf("id is longer than %d bytes", maxID))
		}
		return id, nil
	}
	return nil, invalidRequest("id must be a string or a number")
}

func invalidRequest(why string) *abi.Error {
	return &abi.Error{Code: codeInvalidRequest, Message: "Invalid request: " + why}
}

func invalidParams(why string) *abi.Error {
	return &abi.Error{Code: abi.CodeInvalidParams, Message: "Invalid params: " + why}
}

// shuttingDown is the error of a request that is cancelled or refused because the server shuts down.
func shuttingDown() *abi.Error {
	return &abi.Error{Code: codeServerError, Message: "The server is shutting down: the request was cancelled"}
}

func methodNotFound(method string) *abi.Error {
	return &abi.Error{Code: abi.CodeMethodNotFound, Message: "Method not found: " + visible.Name(method)}
}

// notMessage returns the error for a line that is neither an object nor a batch.
func notMessage(line []byte) *abi.Error {
	if rawjson.Kind(line) == 'n' && rawjson.Valid(line) {
		return invalidRequest("a message must be a JSON object")
	}
	return parseError(line)
}

// parseError describes why a line is not a JSON object.
func parseError(line []byte) *abi.Error {
	var value json.RawMessage
	err := json.Unmarshal(line, &value)
	why := "a message must be a JSON object"
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		why = fmt.Sprintf("%v at byte %d", syntax, syntax.Offset)
	}
	return &abi.Error{Code: codeParseError, Message: "Parse error: " + why}
}

// leadingID finds the id in the first bytes of a truncated request, so that an error response can be sent; nil if
// it does not contain one.
func leadingID(head []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(head))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	for {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil
		}
		if key == "id" {
			id, _ := checkID(value)
			return id
		}
	}
}
