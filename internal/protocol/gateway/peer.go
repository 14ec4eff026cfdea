package gateway

import (
	"bytes"
	"context"
	"slices"
	"strconv"

	"github.com/bulkhead-mcp/bulkhead/internal/protocol/call"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// The principals that the transports authenticate.
var (
	LocalUser   = &call.Principal{ID: call.LocalID}  // the user who runs the host
	TokenHolder = &call.Principal{ID: call.BearerID} // a client that knows the bearer token of the HTTP transport
)

// Peer takes the messages that belong to one request: its response, and messages that precede it. A transport may use
// one Peer for all requests of a session. It must be safe for concurrent use.
type Peer interface {
	// Put sends a message that is not the response, given in parts. It may block while the client does not read, until
	// Closed is closed.
	Put(message ...[]byte)
	// Respond sends the response. For each request, the gateway calls either Respond or Skip exactly once.
	Respond(r Response)
	// Skip states that there will be no response.
	Skip()
	// Closed is closed when messages are not sent any more.
	Closed() <-chan struct{}
}

// Remote is a Peer of a client that may be on another machine.
type Remote interface {
	Sender() call.Sender
}

// Announcer is a Peer that can begin to answer before there is a message. Between client and server, requests without any answer are repeated when a
// connection is lost.
type Announcer interface {
	// Announce returns when the beginning of the answer was sent, the client has gone or does not read, or ctx has ended.
	Announce(ctx context.Context)
}

// Response is the response to a request.
type Response struct {
	ID     []byte     // raw; nil if it could not be parsed
	Result []byte     // encoded, without line breaks
	Err    *abi.Error // instead of Result; nil if the request succeeded
	Batch  [][]byte   // instead of all others: the encoded responses to a batch, in parts
}

// Encode returns the response as a message, in parts. Data of a module's error that is not valid JSON is omitted, because it
// would invalidate the whole message.
func (r Response) Encode() [][]byte {
	if r.Batch != nil {
		return r.Batch
	}
	id := r.ID
	if id == nil {
		id = []byte("null")
	}
	if r.Err == nil {
		return [][]byte{[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), r.Result, []byte(`}`)}
	}
	parts := [][]byte{
		[]byte(`{"jsonrpc":"2.0","id":`), id,
		[]byte(`,"error":{"code":`), strconv.AppendInt(nil, int64(r.Err.Code), 10), []byte(`,"message":`), rawjson.Quote(r.Err.Message),
	}
	if rawjson.Valid(r.Err.Data) {
		parts = append(parts, []byte(`,"data":`), withoutBreaks(bytes.ToValidUTF8(r.Err.Data, []byte("\uFFFD"))))
	}
	return append(parts, []byte(`}}`))
}

func putResult(to Peer, id, result []byte) { to.Respond(Response{ID: id, Result: result}) }

// putError responds with an error; id is nil if it could not be parsed.
func putError(to Peer, id []byte, err *abi.Error) { to.Respond(Response{ID: id, Err: err}) }

// withoutBreaks replaces line breaks by spaces. In valid JSON line breaks occur only between tokens.
func withoutBreaks(value []byte) []byte {
	if bytes.IndexByte(value, '\n') < 0 && bytes.IndexByte(value, '\r') < 0 {
		return value
	}
	line := slices.Clone(value)
	for i, c := range line {
		if c == '\n' || c == '\r' {
			line[i] = ' '
		}
	}
	return line
}
