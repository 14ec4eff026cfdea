package gateway

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of batches. The responses of a batch form one line, which is kept in memory until its last call has ended. A
// client can have many unfinished batches, so their responses are bounded together. Small responses are exempt from
// this bound. They belong to calls in flight or to the batch that is being read, so their number is bounded, too.
const (
	maxBatch          = 256      // messages of a batch
	maxBatchResponses = 16 << 20 // bytes of responses in a session's batches; a response that does not fit is replaced by an error
	maxSmallResponse  = 4 << 10  // bytes; a response of at most this size is never replaced
	responseOverhead  = 256      // bytes of memory that a response takes beside its text
)

// isBatch reports whether an array is a batch of messages.
func isBatch(line []byte) bool {
	if rawjson.Kind(line) != '[' {
		return false
	}
	for _, first := range rawjson.Elements(line) {
		return rawjson.Kind(first) == '{'
	}
	return true // empty
}

// batch handles a JSON-RPC batch, which MCP supports up to version 2025-03-26.
func (s *session) batch(ctx context.Context, line []byte, to Peer) {
	var messages [][]byte
	for _, value := range rawjson.Elements(line) {
		messages = append(messages, value)
	}
	switch {
	case s.version > mcp.ProtocolVersion20250326:
		putError(to, nil, invalidRequest("protocol version "+s.version+" does not support batches"))
	case len(messages) == 0:
		putError(to, nil, invalidRequest("the batch is empty"))
	case len(messages) > maxBatch:
		putError(to, nil, invalidRequest(fmt.Sprintf("the batch has more than %d messages", maxBatch)))
	case s.batched.Load() > maxBatchResponses:
		putError(to, nil, invalidRequest(fmt.Sprintf("the responses of unfinished batches take more than %d bytes; wait until those are finished, or send requests on their own", maxBatchResponses)))
	default:
		b := &batch{out: to, kept: &s.batched, missing: len(messages)}
		for _, value := range messages {
			if rawjson.Kind(value) != '{' {
				putError(b, nil, invalidRequest("a message must be a JSON object"))
				continue
			}
			value = bytes.Clone(value) // so that a small call does not retain the whole line
			s.message(ctx, value, len(value), b)
		}
	}
}

// batch collects the responses of a batch and sends them once all of its messages are handled.
type batch struct {
	out  Peer
	kept *atomic.Int64 // bytes of the responses of all batches of the session

	mu        sync.Mutex
	missing   int      // messages that are not handled yet
	responses [][]byte // the responses, in parts and separated by commas
	size      int64    // bytes of responses; included in kept
}

// Put implements Peer.
func (b *batch) Put(message ...[]byte) { b.out.Put(message...) }

// Announce implements Announcer.
func (b *batch) Announce(ctx context.Context) { announce(ctx, b.out) }

// Closed implements Peer.
func (b *batch) Closed() <-chan struct{} { return b.out.Closed() }

// Respond implements Peer. An error that replaces a response is small enough to fit.
func (b *batch) Respond(r Response) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r.ID = bytes.Clone(r.ID) // so that the response does not retain the request
	if !b.add(r.Encode()) {
		b.add(Response{ID: r.ID, Err: invalidRequest(fmt.Sprintf("the request was executed, but its response is omitted: the responses of a client's unfinished batches are limited to %d bytes in total; send the request on its own", maxBatchResponses))}.Encode())
	}
	b.settle()
}

// add adds a response, given in parts. It returns false if the response does not fit.
func (b *batch) add(parts [][]byte) bool {
	size := int64(responseOverhead)
	for _, part := range parts {
		size += int64(len(part))
	}
	if kept := b.kept.Add(size); kept > maxBatchResponses && size > maxSmallResponse {
		b.kept.Add(-size)
		return false
	}
	if b.responses != nil {
		b.responses = append(b.responses, []byte(`,`))
	}
	b.responses, b.size = append(b.responses, parts...), b.size+size
	return true
}

// Skip implements Peer.
func (b *batch) Skip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
}

// settle counts a message as handled. After the last one it sends the responses, if there are any.
func (b *batch) settle() {
	if b.missing--; b.missing > 0 {
		return
	}
	if b.responses == nil {
		b.out.Skip()
		return
	}
	b.out.Respond(Response{Batch: slices.Concat([][]byte{[]byte(`[`)}, b.responses, [][]byte{[]byte(`]`)})})
	b.responses = nil
	b.kept.Add(-b.size)
}

var _ Peer = (*batch)(nil)
var _ Announcer = (*batch)(nil)
