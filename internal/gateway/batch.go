package gateway

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/bulkhead-mcp/bulkhead/sdk/rawjson"
)

// Bounds of a batch. Its responses form one line, which is kept in memory until its last call has ended.
const (
	maxBatch          = 256      // messages
	maxBatchResponses = 16 << 20 // total bytes of responses; one that does not fit is replaced by an error
	maxSmallResponse  = 4 << 10  // bytes; a response of at most this size is never replaced
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
func (s *session) batch(ctx context.Context, line []byte) {
	var messages [][]byte
	for _, value := range rawjson.Elements(line) {
		messages = append(messages, value)
	}
	switch {
	case s.version > mcp.ProtocolVersion20250326:
		putError(s.out, nil, invalidRequest("protocol version "+s.version+" does not support batches"))
	case len(messages) == 0:
		putError(s.out, nil, invalidRequest("the batch is empty"))
	case len(messages) > maxBatch:
		putError(s.out, nil, invalidRequest(fmt.Sprintf("the batch has more than %d messages", maxBatch)))
	default:
		to := &batch{out: s.out, missing: len(messages)}
		for _, value := range messages {
			if rawjson.Kind(value) != '{' {
				putError(to, nil, invalidRequest("a message is a JSON object"))
				continue
			}
			value = bytes.Clone(value) // so that a small call does not retain the whole line
			s.message(ctx, value, len(value), to)
		}
	}
}

// batch collects the responses of a batch and sends them once all of its messages are handled.
type batch struct {
	out *writer

	mu        sync.Mutex
	missing   int      // messages that are not handled yet
	responses [][]byte // in parts, separated by commas
	size      int      // total bytes of responses
}

func (b *batch) respond(id []byte, member ...[]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	parts, size := response(id, member), 0
	for _, part := range parts {
		size += len(part)
	}
	if b.size+size > maxBatchResponses && size > maxSmallResponse {
		putError(omitted{b}, id, invalidRequest(fmt.Sprintf("it was executed, but its response is omitted: the responses of a batch are limited to %d bytes in total; send it on its own", maxBatchResponses)))
	} else {
		b.add(parts, size)
	}
	b.settle()
}

func (b *batch) add(parts [][]byte, size int) {
	if b.responses != nil {
		b.responses = append(b.responses, []byte(`,`))
	}
	b.responses, b.size = append(b.responses, parts...), b.size+size
}

// omitted adds the error that replaces a response; it does not count.
type omitted struct{ *batch }

func (o omitted) respond(id []byte, member ...[]byte) { o.add(response(id, member), 0) }

func (b *batch) skip() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.settle()
}

// settle counts a message as handled. After the last one it sends the responses, if there are any.
func (b *batch) settle() {
	if b.missing--; b.missing == 0 && b.responses != nil {
		b.out.put(slices.Concat([][]byte{[]byte(`[`)}, b.responses, [][]byte{[]byte(`]`)})...)
		b.responses = nil
	}
}

var _ responder = (*batch)(nil)
